// Before anything is drawn, so that a dark page never flashes white. A file of its own: the
// service's content policy allows no scripts inside the page.
try {
  const kept = localStorage.getItem("sightline.theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // Storage may be off; then the system's preference holds.
}
