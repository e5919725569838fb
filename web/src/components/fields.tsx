/** Fields: each has a visible label, and writes what people may need to know under it. */
import { useId, type ReactNode } from "react";

export interface Choosable<T extends string = string> {
  value: T;
  label: string;
  /** Choices with the same group stand under its title. */
  group?: string;
  disabled?: boolean;
}

interface SelectProps<T extends string> {
  label: ReactNode;
  value: T;
  options: readonly Choosable<T>[];
  onChange: (value: T) => void;
  /** The label is read out but not shown. */
  hideLabel?: boolean;
  disabled?: boolean;
}

/** One of several, in a list that opens. */
export function Select<T extends string>({ label, value, options, onChange, hideLabel, disabled }: SelectProps<T>) {
  const id = useId();
  const groups = [...new Set(options.map((option) => option.group ?? ""))];
  const draw = (group: string) =>
    options
      .filter((option) => (option.group ?? "") === group)
      .map((option) => (
        <option key={option.value} value={option.value} disabled={option.disabled}>
          {option.label}
        </option>
      ));
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? "hidden" : undefined}>
        {label}
      </label>
      <select id={id} value={value} disabled={disabled} onChange={(event) => onChange(event.target.value as T)}>
        {groups.map((group) =>
          group === "" ? (
            draw(group)
          ) : (
            <optgroup key={group} label={group}>
              {draw(group)}
            </optgroup>
          ),
        )}
      </select>
    </div>
  );
}

interface SliderProps {
  label: ReactNode;
  value: number;
  min: number;
  max: number;
  step?: number;
  onChange: (value: number) => void;
  /** What stands beside the label and is read out; the number unless given. */
  text?: string;
  /** Values marked under the track. */
  stops?: readonly number[];
  /** Also a field to type the number into. */
  typed?: boolean;
  disabled?: boolean;
}

/** A number on a track. */
export function Slider({ label, value, min, max, step = 1, onChange, text, stops, typed, disabled }: SliderProps) {
  const id = useId();
  const limit = (number: number) => Math.min(max, Math.max(min, number));
  const type = (typedText: string) => {
    const number = Number(typedText);
    if (typedText.trim() !== "" && Number.isFinite(number)) onChange(limit(number));
  };
  return (
    <div className="field slider">
      <label htmlFor={id}>{label}</label>
      {typed ? (
        <input
          type="number"
          aria-label={typeof label === "string" ? `${label}, typed` : "typed value"}
          key={value}
          defaultValue={value}
          min={min}
          max={max}
          step="any"
          disabled={disabled}
          onBlur={(event) => type(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && type(event.currentTarget.value)}
        />
      ) : (
        <output htmlFor={id}>{text ?? value}</output>
      )}
      <input
        id={id}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        disabled={disabled}
        aria-valuetext={text}
        list={stops ? `${id}-stops` : undefined}
        onChange={(event) => onChange(Number(event.target.value))}
      />
      {stops && (
        <datalist id={`${id}-stops`}>
          {stops.map((stop) => (
            <option key={stop} value={stop} />
          ))}
        </datalist>
      )}
    </div>
  );
}

interface SegmentedProps<T extends string> {
  label: string;
  value: T;
  options: readonly Choosable<T>[];
  onChange: (value: T) => void;
  hideLabel?: boolean;
}

/** One of a few, all of them in sight. */
export function Segmented<T extends string>({ label, value, options, onChange, hideLabel }: SegmentedProps<T>) {
  const name = useId();
  return (
    <fieldset className="field segmented">
      <legend className={hideLabel ? "hidden" : undefined}>{label}</legend>
      <div>
        {options.map((option) => (
          <label key={option.value}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              disabled={option.disabled}
              onChange={() => onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface CheckboxProps {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

/** Yes or no. */
export function Checkbox({ label, checked, onChange, disabled }: CheckboxProps) {
  return (
    <label className="checkbox">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  );
}

interface SearchProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  id?: string;
}

/** Text to look for. */
export function Search({ label, value, onChange, placeholder, id }: SearchProps) {
  const made = useId();
  return (
    <div className="field">
      <label htmlFor={id ?? made}>{label}</label>
      <input
        id={id ?? made}
        type="search"
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
