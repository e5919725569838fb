/** The shell: bar with pages, theme and help; the page under it. */
import { Component, Suspense, useEffect, useRef, useState, type ErrorInfo, type ReactNode } from "react";

import { useFreshAnswers, useHealth, useProgress } from "./api/queries";
import { Empty, ErrorNote, Link, Spinner } from "./components";
import { Help } from "./help";
import { useKeys } from "./keys";
import { PAGES, pageHref, pageOf, type PageInfo } from "./pages";
import { isOpenedAgain, PageFileError, reopen } from "./pages/load";
import { chooseTheme, useTheme, type Theme } from "./theme";
import { go, to, useUrl, useWords } from "./url";

const THEMES: Record<Theme, { next: Theme; sign: string; text: string }> = {
  system: { next: "light", sign: "◐", text: "as the system" },
  light: { next: "dark", sign: "○", text: "light" },
  dark: { next: "system", sign: "●", text: "dark" },
};

function ThemeSwitch() {
  const theme = useTheme();
  const { next, sign, text } = THEMES[theme];
  return (
    <button
      type="button"
      className="button quiet icon"
      aria-label={`Theme: ${text}. Change to ${THEMES[next].text}`}
      title={`Theme: ${text}`}
      onClick={() => chooseTheme(next)}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}

function RunningNote() {
  const progress = useProgress().data;
  if (!progress || progress.finished || progress.all === 0) return null;
  const share = Math.floor((100 * progress.done) / progress.all);
  return (
    <Link className="running" href={to.study()} title={`${progress.done} of ${progress.all} tasks are stored`}>
      {progress.running ? "running" : "unfinished"} {share}%
    </Link>
  );
}

function usePages(): readonly PageInfo[] {
  const health = useHealth().data;
  return PAGES.filter((page) => page.has === undefined || (health !== undefined && page.has(health)));
}

interface BarProps {
  current: PageInfo | null;
  onHelp: () => void;
}

function Bar({ current, onHelp }: BarProps) {
  const health = useHealth().data;
  const pages = usePages();
  const words = useWords();
  const name = current?.name === "image" ? "gallery" : current?.name;
  const links = useRef<HTMLElement>(null);
  // On a narrow screen the links go on beyond the edge: the current one is brought into sight.
  useEffect(() => {
    const [nav, link] = [links.current, links.current?.querySelector<HTMLElement>("[aria-current]")];
    if (nav && link) nav.scrollLeft = link.offsetLeft + link.offsetWidth - nav.offsetLeft - nav.clientWidth;
  }, [name, pages.length]);
  return (
    <header className="bar">
      <Link className="brand" href="/">
        <img src="/icon.svg" alt="" width="22" height="22" />
        <span>Sightline</span>
        {health && <span className="study-name">{health.study}</span>}
      </Link>
      <nav aria-label="Pages" ref={links}>
        {pages.map((page) => (
          <Link key={page.name} href={pageHref(page, words)} aria-current={page.name === name ? "page" : undefined}>
            {page.title}
          </Link>
        ))}
      </nav>
      <div className="bar-tools">
        <RunningNote />
        <ThemeSwitch />
        <button type="button" className="button quiet icon" aria-label="Help: keys and words" title="Help (?)" onClick={onHelp}>
          <span aria-hidden="true">?</span>
        </button>
      </div>
    </header>
  );
}

/** A page that broke says so; the rest of the app stays. One whose files did not load is opened again. */
class Guard extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidCatch(error: Error, info: ErrorInfo) {
    console.error(error, info.componentStack);
    if (error instanceof PageFileError && isOpenedAgain(error)) this.reopen();
  }

  private readonly reopen = () => void reopen().catch((error: Error) => this.setState({ error }));

  private readonly retry = () => (this.state.error instanceof PageFileError ? this.reopen() : this.setState({ error: null }));

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="page">
        <ErrorNote error={this.state.error} retry={this.retry} />
      </div>
    );
  }
}

function NotFound({ path }: { path: string }) {
  return (
    <div className="page">
      <Empty title="There is no such page">
        Nothing is at {path}. <Link href="/">To the gallery</Link>
      </Empty>
    </div>
  );
}

/** A new page is read from its beginning; the first one leaves the focus where browsers put it. */
function useFocusOnNewPage(path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [path]);
}

export function App() {
  const { path } = useUrl();
  const page = pageOf(path);
  const [help, setHelp] = useState(false);
  useFreshAnswers();
  const pages = usePages();
  const words = useWords();
  useKeys("Everywhere", [
    { keys: ["?"], label: "keys and words", run: () => setHelp(true) },
    ...pages
      .filter((one) => one.key)
      .map((one) => ({ keys: [`g ${one.key}`], label: `go to ${one.title}`, run: () => go(pageHref(one, words)) })),
  ]);
  useFocusOnNewPage(path);
  const Current = page?.component;
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <Bar current={page} onHelp={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
        <Guard key={page?.name ?? path}>
          <Suspense fallback={<Spinner />}>{Current ? <Current /> : <NotFound path={path} />}</Suspense>
        </Guard>
      </main>
      <Help open={help} onClose={() => setHelp(false)} />
    </>
  );
}
