// Which page it is depends on the address: ?table=, ?dag_id=&run_id=, or the list.
import { html, render } from "../vendor/htm-preact.module.js";
import { RunPage } from "./run.js";
import { TablePage } from "./table.js";
import { TablesPage } from "./tables.js";

// Links of tasks lead to Airflow's own page around this one, whose address then says which table; Airflow's frame has none.
const isFramed = window.parent !== window && window.location.search === "";
const outer = new URLSearchParams(isFramed ? window.parent.location.search : "");
const asked = new URLSearchParams(outer.has("table") ? { table: outer.get("table") } : window.location.search);
const page = document.getElementById("page");

function chosen() {
  if (asked.get("table")) return html`<${TablePage} id=${asked.get("table")} />`;
  if (asked.get("dag_id")) return html`<${RunPage} asked=${Object.fromEntries(asked)} />`;
  return html`<${TablesPage} />`;
}

page.replaceChildren();
render(chosen(), page);
