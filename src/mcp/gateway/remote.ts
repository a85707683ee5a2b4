import { createByteLineReader, findRequestId, type OversizedLine } from "../stdio-lines.ts";
import { type HostStreams, largestMessage, noteUnread, waitForHost } from "./child.ts";
import { createGateway, type Gateway } from "./gateway.ts";
import { errorLine, type GatewayOptions } from "./gateway-state.ts";
import { createHttpLink } from "./http-link.ts";
import { createHostOutput } from "./output.ts";
import { createSender } from "./remote-send.ts";

const invalidRequest = -32_600;

/**
 * Passes messages between a host and a server over Streamable HTTP, or over HTTP with SSE. Resolves when the host has ended
 * its input, or the stream of HTTP with SSE has ended. Source: https://modelcontextprotocol.io/specification (transports).
 */
export async function serveRemote(
	url: URL,
	{ input, output }: HostStreams,
	options: Omit<GatewayOptions, "toHost" | "toServer"> & { readonly headers: Readonly<Record<string, string>> },
): Promise<void> {
	const { log } = options;
	const toHost = createHostOutput((bytes) => {
		output.write(bytes);
	});
	const link = createHttpLink(url, options.headers);
	const gone = new AbortController();
	const gateway: Gateway = createGateway({ ...options, toHost, toServer: (line, read) => sender.send(line, read) });
	const ended = new Promise<void>((resolve) => {
		gone.signal.addEventListener("abort", () => resolve());
		for (const event of ["end", "error", "close"]) input.once(event, () => resolve());
		output.once("error", () => resolve());
	});
	const sender = createSender({ url, link, gateway, log, gone, onMessage: receive });
	const reader = createByteLineReader({ largest: largestMessage, onLine: gateway.fromHost, onOversized: refuseLarge });
	input.on("data", reader.read);
	await ended;
	await sender.end();
	gone.abort();
	link.close();
	gateway.end(`The connection to ${url.origin} has ended.`);
	await toHost.settled();
	await waitForHost(output);

	function receive(message: Buffer): void {
		const line = oneLine(message);
		if (line.length <= largestMessage) gateway.fromServer(line);
		else {
			toHost.line(line);
			noteUnread(log, line.length);
		}
	}

	function refuseLarge(line: OversizedLine): void {
		const id = findRequestId(line);
		const message = `A message of ${line.bytes} bytes is over the ${largestMessage} that are sent over HTTP.`;
		if (id !== undefined) toHost.line(errorLine(id, { code: invalidRequest, message }));
	}
}

/** Between the values of JSON a line end is a blank; inside them it is escaped. */
function oneLine(message: Buffer): Buffer {
	if (!message.includes("\n") && !message.includes("\r")) return message;
	return Buffer.from(message.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)));
}
