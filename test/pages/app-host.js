// The host of an MCP App, as the protocol's own package makes one; bundled by the test that shows it.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/** @param {{ page: string, result: object, theme: "light" | "dark", width?: number }} shown */
globalThis.startHost = async ({ page, result, theme, width = 800 }) => {
	const frame = document.createElement("iframe");
	frame.sandbox = "allow-scripts";
	frame.width = `${width}`;
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
		frame.height = height;
	});
	await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
	frame.srcdoc = page;
	globalThis.told = told;
	globalThis.bridge = bridge;
};
