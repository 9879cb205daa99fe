// Format numbers and times for readers.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit ? count.toFixed(1) : count} ${UNITS[unit]}`;
}

export const number = (value) => new Intl.NumberFormat("en").format(value);

export const percent = (share) => `${Math.round(100 * share)} %`;

export function duration(seconds) {
  const steps = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ];
  for (const [length, name] of steps) {
    if (seconds >= length) return `${(seconds / length).toFixed(seconds < 10 * length ? 1 : 0)} ${name}`;
  }
  return `${Math.max(0, Math.round(seconds))} s`;
}

export const ago = (ms) => (ms === null || ms === undefined ? "never" : `${duration((Date.now() - ms) / 1000)} ago`);

export function moment(ms) {
  if (ms === null || ms === undefined) return "";
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" }).format(new Date(ms));
}

export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
