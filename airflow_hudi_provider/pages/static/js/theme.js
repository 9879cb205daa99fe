// Selects the light or dark theme that Airflow uses, which may differ from the system's theme; an iframe does not
// inherit Airflow's theme. In a frame, the page has the background of Airflow's page, so that the edge of the frame is
// not visible. This script runs before the first paint.
(() => {
  const CLEAR = "rgba(0, 0, 0, 0)";
  const outer = () => {
    try {
      return window.parent === window ? null : window.parent.document.documentElement;
    } catch {
      return null; // shown inside another site's page
    }
  };
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const host = outer();
    if (host && host.classList.contains("dark")) return true;
    if (host && host.classList.contains("light")) return false;
    return system.matches;
  };
  const apply = () => {
    const theme = isDark() ? "dark" : "light";
    const host = outer();
    const ground = host ? getComputedStyle(host).backgroundColor : "";
    if (ground && ground !== CLEAR) document.documentElement.style.setProperty("--ground", ground);
    if (document.documentElement.dataset.theme === theme) return;
    document.documentElement.dataset.theme = theme;
    window.dispatchEvent(new Event("themechange"));
  };
  apply();
  system.addEventListener("change", apply);
  const host = outer();
  if (host) new MutationObserver(apply).observe(host, { attributes: true, attributeFilter: ["class"] });
})();
