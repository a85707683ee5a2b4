/** @import { McpUiHostContext, McpUiInitializeRequest } from "@modelcontextprotocol/ext-apps" */
/** @import { CallToolResult } from "@modelcontextprotocol/sdk/types.js" */

/** MCP Apps, SEP-1865. */
const protocolVersion = "2026-01-26";
const methodNotFound = { code: -32601, message: "Method not found" };

/**
 * Speaks with the host of an MCP App, in whose frame the page stands: JSON-RPC over `postMessage`. Only what a page needs
 * that shows the result of a tool: the package of the protocol would make the page ten times as large.
 *
 * @param {{ version: string, onResult: (result: CallToolResult) => void }} parameters
 */
export function connectToHost({ version, onResult }) {
	const send = (/** @type {object} */ message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
	/** @type {McpUiInitializeRequest["params"]} */
	const params = { appInfo: { name: "palimpsest", version }, appCapabilities: {}, protocolVersion };
	addEventListener("message", ({ source, data }) => {
		if (source !== parent || typeof data !== "object" || data?.jsonrpc !== "2.0") return;
		if (data.method === undefined) {
			if (data.id !== 1 || data.result === undefined) return;
			adopt(data.result.hostContext);
			send({ method: "ui/notifications/initialized" });
			tellSize(send);
		} else if (data.method === "ui/notifications/tool-result") onResult(data.params);
		else if (data.method === "ui/notifications/host-context-changed") adopt(data.params);
		else if (data.id !== undefined) {
			const isKnown = data.method === "ping" || data.method === "ui/resource-teardown";
			send({ id: data.id, ...(isKnown ? { result: {} } : { error: methodNotFound }) });
		}
	});
	send({ id: 1, method: "ui/initialize", params });
}

/**
 * Shows the page in the scheme of the host, which need not be that of the system.
 *
 * @param {Partial<McpUiHostContext> | undefined} context
 */
function adopt(context) {
	if (context?.theme !== undefined) document.documentElement.dataset.theme = context.theme;
}

/**
 * Tells how high the page is, now and whenever that changes, so that the host need not let it scroll.
 *
 * @param {(message: object) => void} send
 */
function tellSize(send) {
	new ResizeObserver(() => {
		const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
		send({ method: "ui/notifications/size-changed", params: { height } });
	}).observe(document.documentElement);
}
