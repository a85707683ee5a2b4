// The host of an MCP App, as the protocol's own package makes one; bundled by the test that shows it.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/** @param {{ page: string, result: object, theme: "light" | "dark" }} shown */
globalThis.startHost = async ({ page, result, theme }) => {
	const frame = document.createElement("iframe");
	frame.sandbox = "allow-scripts";
	frame.width = "800";
	document.body.append(frame);
	const bridge = new AppBridge(null, { name: "host", version: "1" }, {}, { hostContext: { theme } });
	const told = { initialized: false, height: 0, app: undefined };
	bridge.addEventListener("initialized", () => {
		told.initialized = true;
		told.app = bridge.getAppVersion();
		bridge.sendToolResult(result);
	});
	bridge.addEventListener("sizechange", ({ height }) => {
		told.height = height;
	});
	await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
	frame.srcdoc = page;
	globalThis.told = told;
	globalThis.bridge = bridge;
};
