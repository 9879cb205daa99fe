// Reads from the server. Paths are relative, so that they also work below a path prefix.

export class ApiError extends Error {
  // `table` is what the server knows about a table that it cannot read, or null.
  constructor(status, kind, message, hint, table = null) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.hint = hint;
    this.table = table;
  }
}

export async function read(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  const address = `api/${path}${query.size ? `?${query}` : ""}`;
  let response;
  try {
    response = await fetch(address, { headers: { accept: "application/json" } });
  } catch {
    throw new ApiError(0, "Unreachable", "Airflow's API server does not answer.", "Reload the page in a moment.");
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw errorOf(response.status, body);
}

function errorOf(status, body) {
  const detail = typeof body.detail === "string" ? body.detail : "";
  if (status === 401) return new ApiError(status, "Not logged in", "Your session has ended.", "Log in to Airflow again.");
  if (status === 403) return new ApiError(status, "Not allowed", "You are not allowed to see this page.", "Ask an administrator for access.");
  return new ApiError(status, body.kind || `Error ${status}`, detail || "The server could not answer.", body.hint || "", body.writers ? body : null);
}
