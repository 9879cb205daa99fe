// Charts of a table. Colours come from the style sheet, because each theme has its own colours.
import { html, useEffect, useRef } from "../vendor/htm-preact.module.js";
import { bytes, clock, clockWithSeconds, counted, day, exactClock, moment, number, zoneName } from "./format.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// `build` returns the options of the chart. The component calls `build` again when the theme or `depends` changes.
export function Chart({ build, label, tall, depends }) {
  const place = useRef(null);
  useEffect(() => {
    const chart = window.echarts.init(place.current);
    const draw = () => chart.setOption({ ...common(label), ...build() }, { notMerge: true });
    const resize = () => chart.resize();
    draw();
    const observer = new ResizeObserver(resize);
    observer.observe(place.current);
    window.addEventListener("themechange", draw);
    return () => {
      observer.disconnect();
      window.removeEventListener("themechange", draw);
      chart.dispose();
    };
  }, [depends]);
  return html`<div class=${tall ? "chart tall" : "chart"} ref=${place} role="img" aria-label=${label}></div>`;
}

const common = (label) => ({
  animation: false,
  aria: { enabled: true, label: { description: label } },
  backgroundColor: "transparent",
  textStyle: { color: colour("text"), fontFamily: "inherit" },
});

// Tooltips are drawn as text on the chart, so that names of tables and partitions never become markup.
const tooltip = (formatter) => ({
  trigger: "item",
  renderMode: "richText",
  confine: true,
  backgroundColor: colour("panel"),
  borderColor: colour("line"),
  textStyle: { color: colour("text") },
  formatter,
});

const axis = (more) => ({
  axisLine: { lineStyle: { color: colour("line") } },
  axisLabel: { color: colour("muted") },
  splitLine: { lineStyle: { color: colour("line"), opacity: 0.5 } },
  ...more,
});

const LANES = ["write", "clustering", "compaction", "clean", "rollback", "savepoint", "restore", "other"];
const COLOURS = ["blue", "violet", "brown", "green", "red", "yellow", "red", "muted"];

export function laneOf({ action, operation }) {
  if (action === "clustering" || operation === "cluster") return "clustering";
  if (action === "compaction" || action === "logcompaction" || operation === "compact" || operation === "log_compact") return "compaction";
  if (["clean", "rollback", "savepoint", "restore"].includes(action)) return action;
  return ["commit", "deltacommit", "replacecommit"].includes(action) ? "write" : "other";
}

// The time axis ends at the current time, so that the chart shows how long ago the last write was.
export function timelineOptions(instants, now) {
  const lanes = LANES.filter((lane) => instants.some((each) => laneOf(each) === lane));
  const times = instants.map((each) => each.requested_ms).filter((ms) => ms !== null);
  const [first, last] = [Math.min(...times, now), Math.max(...times, now)];
  const margin = Math.max(60_000, (last - first) * 0.03);
  const series = lanes.map((lane) => ({
    name: lane,
    type: "scatter",
    large: false,
    symbolSize: 11,
    data: instants
      .filter((each) => laneOf(each) === lane && each.requested_ms !== null)
      .map((each) => ({
        value: [each.requested_ms, lane],
        instant: each,
        symbol: each.state === "completed" ? "circle" : "emptyCircle",
      })),
    itemStyle: { color: colour(COLOURS[LANES.indexOf(lane)]) },
  }));
  // On an axis of a day or more, a time of day is no unique label.
  const label = (ms) => (last - first + 2 * margin < DAY_MS ? exactClock(ms) : dayOrClock(ms));
  return {
    grid: { left: 90, right: 24, top: 16, bottom: 84 },
    xAxis: axis({
      type: "time",
      min: first - margin,
      max: last + margin,
      name: `time in ${zoneName(last)}`,
      nameLocation: "middle",
      nameGap: 26,
      nameTextStyle: { color: colour("muted") },
      axisLabel: { color: colour("muted"), hideOverlap: true, formatter: label, showMinLabel: false, showMaxLabel: false },
    }),
    yAxis: axis({ type: "category", data: lanes, inverse: true }),
    dataZoom: [
      { type: "inside" },
      { type: "slider", bottom: 8, height: 22, textStyle: { color: colour("muted") }, labelFormatter: (ms) => `${day(ms)} ${clock(ms)}` },
    ],
    tooltip: tooltip(({ data }) => instantText(data.instant)),
    series,
  };
}

const DAY_MS = 86_400_000;
const dayOrClock = (ms) => (exactClock(ms) === "00:00" ? day(ms) : `${day(ms)} ${exactClock(ms)}`);

function instantText(each) {
  const lines = [
    `${each.operation || each.action} ${each.instant}`,
    `${each.state}, ${moment(each.requested_ms)}`,
  ];
  if (each.rows) {
    const { inserted, updated, deleted } = each.rows;
    lines.push(`rows: ${number(inserted)} inserted, ${number(updated)} updated, ${number(deleted)} deleted`);
    lines.push(`files: ${number(each.files_written)} written, ${number(each.files_replaced)} replaced`);
  }
  if (each.by) lines.push(`by ${each.by.dag_id} / ${each.by.task_id}`);
  return lines.join("\n");
}

export function sizesOptions({ sizes: points, size_classes: classes }) {
  const isLong = points[points.length - 1].at_ms - points[0].at_ms > 2 * DAY_MS;
  const isShort = points[points.length - 1].at_ms - points[0].at_ms < 600_000;
  const label = (ms) => (isLong ? day(ms) : isShort ? clockWithSeconds(ms) : clock(ms));
  // These colours are not those of states such as "failing": a small file that is alone in its partition is no problem.
  const shades = ["violet", "blue", "teal", "green"];
  const bar = { type: "bar", stack: "files", barMaxWidth: 26 };
  const series = classes.map(({ name }, index) => ({
    ...bar,
    name,
    itemStyle: { color: colour(shades[index]) },
    data: points.map((point) => point.counts[index]),
  }));
  if (points.some((point) => point.unknown)) {
    series.push({ ...bar, name: "size no longer known", itemStyle: { color: colour("line") }, data: points.map((point) => point.unknown) });
  }
  return {
    grid: { left: 60, right: 24, top: 48, bottom: 52 },
    // A legend wraps its items, so a narrow chart needs more room above the bars.
    legend: { type: "plain", top: 4, textStyle: { color: colour("text") }, itemWidth: 14 },
    media: [
      { query: { maxWidth: 800 }, option: { grid: { top: 76 } } },
      { query: { maxWidth: 420 }, option: { grid: { top: 100 } } },
      { option: { grid: { top: 48 } } },
    ],
    xAxis: axis({
      type: "category",
      name: `writes, by time in ${zoneName(points[points.length - 1].at_ms)}`,
      nameLocation: "middle",
      nameGap: 28,
      nameTextStyle: { color: colour("muted") },
      data: points.map((point) => point.instant),
      // Leave out a label that equals the previous label, except in a short history: its bars all need labels.
      axisLabel: { color: colour("muted"), hideOverlap: true, interval: (index) => isShort || index === 0 || label(points[index].at_ms) !== label(points[index - 1].at_ms), formatter: (_, index) => label(points[index].at_ms) },
    }),
    yAxis: axis({ type: "value", name: "files", nameTextStyle: { color: colour("muted") }, minInterval: 1 }),
    tooltip: tooltip(({ dataIndex, seriesName, value }) => {
      const point = points[dataIndex];
      return `${moment(point.at_ms)}\n${seriesName}: ${counted(value, "file")}\nall: ${counted(point.files, "file")}, ${bytes(point.bytes)}`;
    }),
    series,
  };
}
