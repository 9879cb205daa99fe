// Format numbers and times for readers.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

// Rounds before it chooses the unit, so that 1023.99 KiB are 1.0 MiB and not 1024.0 KiB.
export function bytes(count) {
  let unit = 0;
  let shown = String(count);
  while (Number(shown) >= 1024 && unit < UNITS.length - 1) {
    unit += 1;
    shown = (count / 1024 ** unit).toFixed(1);
  }
  return `${shown} ${UNITS[unit]}`;
}

export const number = (value) => new Intl.NumberFormat("en").format(value);

// A title inside a sentence.
export const inSentence = (title) => title.charAt(0).toLowerCase() + title.slice(1);

export const percent = (share) => `${Math.round(100 * share)} %`;

// Rounds before it chooses the unit, so that 59.9 minutes are 1 h and not 60 min.
export function duration(seconds) {
  const units = [
    ["s", 1, 60],
    ["min", 60, 60],
    ["h", 3600, 24],
    ["d", 86400, Infinity],
  ];
  for (const [name, length, end] of units) {
    const value = Math.max(0, seconds) / length;
    const rounded = value < 9.95 ? Math.round(10 * value) / 10 : Math.round(value);
    if (rounded < end) return `${rounded} ${name}`;
  }
}

export function ago(ms) {
  if (ms === null || ms === undefined) return "never";
  const seconds = (Date.now() - ms) / 1000;
  return seconds < -60 ? `in ${duration(-seconds)}` : `${duration(Math.max(0, Math.round(seconds)))} ago`;
}

// The zone that the user chose in Airflow, or else the zone of the browser.
const zone = (() => {
  try {
    const chosen = JSON.parse(window.localStorage.getItem("timezone"));
    new Intl.DateTimeFormat("en-GB", { timeZone: chosen || undefined });
    return chosen || undefined;
  } catch {
    return undefined; // no choice, or a name that this browser does not support
  }
})();

const format = (ms, options) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options }).format(new Date(ms));

const DAY = { day: "numeric", month: "short" };
const TIME = { hour: "2-digit", minute: "2-digit" };

// A date and time with the zone: 13 Jan 2026, 22:03:11 CET.
export function moment(ms) {
  if (ms === null || ms === undefined) return "";
  return format(ms, { ...DAY, ...TIME, year: "numeric", second: "2-digit", timeZoneName: "short" });
}

// Labels of axes. The labels do not contain the time zone, because the name of the axis contains the zone.
export const day = (ms) => format(ms, DAY);
export const clock = (ms) => format(ms, TIME);
// With seconds or milliseconds if the time is not a whole minute or second, so that labels of different times differ.
export const exactClock = (ms) => (ms % 60_000 === 0 ? clock(ms) : format(ms, { ...TIME, second: "2-digit", ...(ms % 1000 === 0 ? {} : { fractionalSecondDigits: 3 }) }));
export const clockWithSeconds = (ms) => format(ms, { ...TIME, second: "2-digit" });
export const clockWithZone = (ms) => format(ms, { ...TIME, timeZoneName: "short" });
export const zoneName = (ms) =>
  new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" })
    .formatToParts(new Date(ms))
    .find((part) => part.type === "timeZoneName").value;

export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

// The number of rows, exact or as a lower bound. It is never an estimate.
export function rows({ rows: known, files, uncounted_files: uncounted }) {
  if (!uncounted) return number(known);
  return uncounted === files ? "not counted" : `≥ ${number(known)}`;
}

// The number of rows with the noun: 1 row, ≥ 20 rows.
export function countedRows(totals) {
  const text = rows(totals);
  return text === "not counted" ? "rows not counted" : `${text} ${text === "1" ? "row" : "rows"}`;
}

export const rowsHint = ({ uncounted_files: uncounted }) =>
  uncounted ? `The rows of ${counted(uncounted, "file")} are not counted: the writes of these files are archived, or the files have log files.` : "";
