"""Completing sparse annotations: proposals by a machine, decisions by people, gold by people alone.

Annotators mark one window of five. A machine proposes the others, people accept, reject or edit
each, and every decision is kept. A gold set, drawn at random and annotated without the machine,
tells how good the completion is.
"""
