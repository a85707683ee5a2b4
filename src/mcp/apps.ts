import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { type ContextReportRequest, reportContext } from "../operations/report.ts";
import { contextText } from "../operations/report-text.ts";
import type { ContextAnswer } from "./conversation-tool.ts";

const columns = 100;

/**
 * What fills the window of a call's conversation, and the same in words, for hosts that show their model only text.
 *
 * @throws PalimpsestError as `reportContext` does.
 */
export async function contextOfCall(request: ContextReportRequest): Promise<ContextAnswer> {
	const report = await reportContext(request);
	return { report, text: contextText(report, { columns, bars: "none" }) };
}

/** Under which a host of MCP Apps reads the page that shows what `guard_context` reports. */
export const contextReportUri = "ui://palimpsest/context-report";

/** https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx */
const appMimeType = "text/html;profile=mcp-app";

/**
 * Offers the page of a context report as an MCP App. It asks for nothing beyond itself, so no origins are allowed to it.
 * Hosts without Apps have the same in the structured answer, and in words in its text.
 */
export function bindContextReportApp(server: McpServer): void {
	server.registerResource(
		"context-report",
		contextReportUri,
		{
			title: "What fills the context window",
			description: "A page for hosts that show MCP Apps: draws the report of guard_context.",
			mimeType: appMimeType,
			_meta: { ui: { prefersBorder: true } },
		},
		async (uri) => {
			// Loaded on demand, since few hosts ask for it.
			const { reportAppPage } = await import("../pages/report-page.ts");
			const text = await reportAppPage();
			return {
				contents: [{ uri: uri.href, mimeType: appMimeType, text, _meta: { ui: { prefersBorder: true } } }],
			};
		},
	);
}
