import { byId } from "./elements.js";
import { renderReport } from "./render-report.js";

renderReport(byId("report"), JSON.parse(byId("data").textContent ?? ""));
