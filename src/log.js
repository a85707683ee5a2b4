// The command line loads this file for the names of the kinds, so it loads only Node's own modules.
import { createHash } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
export const logKinds = ["text", "json", "off"];
export function createOperatorLog(options) {
	const { kind, isWanted, inWords, say, write } = options;
	if (kind === "off") return { log: () => {}, onCallEnd: () => {}, announce: () => {} };
	if (kind === "text") {
		return {
			log: inWords,
			onCallEnd: (end) => inWords({ level: levelOf(end), message: callWords(end), data: { event: "call" } }),
			announce: ({ message }) => say(message),
		};
	}
	const writeFacts = (facts) => {
		// Some readers of logs take Unicode's line separators for the end of a line.
		const line = JSON.stringify({ time: new Date().toISOString(), ...facts });
		write(line.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029"));
	};
	const announce = ({ level, message, data }) => writeFacts({ level, ...data, message });
	const log = (event) => isWanted(event.level) && announce(event);
	return { log, onCallEnd: (end) => writeFacts(factsOf(end)), announce };
}
function callWords(end) {
	const { tool, outcome, code, principal } = end;
	const [tokens, chars] = [tokensOf(end), charsOf(end)];
	const became = tokens
		? `, ${tokens.before} tokens became ${tokens.after}`
		: chars
			? `, ${chars.before} characters became ${chars.after}`
			: "";
	const caller = principal === undefined ? "" : `, for ${principal}`;
	return `${tool}: ${code ?? outcome} in ${tenths(end.milliseconds)} ms${became}${caller}`;
}
function levelOf({ outcome, code }) {
	return code === "internal" ? "error" : outcome === "busy" ? "warning" : "info";
}
/** The session is hashed, so that readers of the log cannot use it. JSON omits unknown values. */
function factsOf(end) {
	const { request, session } = end;
	const [tokens, chars] = [tokensOf(end), charsOf(end)];
	return {
		level: levelOf(end),
		event: "call",
		request: request === undefined ? undefined : String(request).slice(0, 64),
		session: session === undefined ? undefined : createHash("sha256").update(session).digest("hex").slice(0, 12),
		principal: end.principal,
		tool: end.tool,
		outcome: end.outcome,
		code: end.code,
		ms: tenths(end.milliseconds),
		bytes_in: end.bytesIn,
		bytes_out: end.bytesOut,
		tokens_before: tokens?.before,
		tokens_after: tokens?.after,
		chars_before: chars?.before,
		chars_after: chars?.after,
	};
}
export function tokensOf({ report }) {
	return typeof report?.tokens === "object" ? report.tokens : undefined;
}
function charsOf({ report }) {
	return typeof report?.chars === "object" ? report.chars : undefined;
}
const tenths = (milliseconds) => Math.round(milliseconds * 10) / 10;
const longestStrayLine = 2_000;
/** A log of JSON stays one object a line: warnings, output of packages and fatal errors become events. */
export function captureStandardError(log) {
	const { stderr } = process;
	const write = stderr.write.bind(stderr);
	const stray = (line) => {
		const message = line.slice(0, longestStrayLine);
		if (line.trim() !== "") log({ level: "warning", message, data: { event: "stray_line" } });
	};
	const decoder = new StringDecoder("utf8");
	let begun = "";
	const take = (text) => {
		const lines = (begun + text).split(/\r?\n/);
		begun = lines.pop() ?? "";
		for (const line of lines) stray(line);
		if (begun.length > longestStrayLine) endLine();
	};
	const endLine = () => {
		stray(begun);
		begun = "";
	};
	process.on("exit", endLine);
	stderr.write = (chunk, ...rest) => {
		take(typeof chunk === "string" ? chunk : decoder.write(Buffer.from(chunk)));
		const whenWritten = rest.find((one) => typeof one === "function");
		if (whenWritten) process.nextTick(whenWritten);
		return true;
	};
	captureWarnings((warning) => {
		const code = "code" in warning ? String(warning.code) : null;
		const data = { event: "process_warning", warning: warning.name, code };
		log({ level: "warning", message: warning.message.slice(0, longestStrayLine), data });
	});
	process.on("uncaughtException", (error) => {
		const name = error instanceof Error ? error.name : typeof error;
		// Frames only: the message may quote a conversation.
		const frames = error instanceof Error ? (error.stack ?? "").match(/^ {4}at .*/gm) : null;
		const data = { event: "defect", error: name, stack: (frames ?? []).map((frame) => frame.trim()).join("; ") };
		log({ level: "error", message: "The process ends because of a defect", data });
		process.exit(70);
	});
	return (line) => void write(`${line}\n`);
}
/** Node does not write warnings through `process.stderr`. Warnings that the operator turned off stay off. */
export function captureWarnings(listener) {
	if (process.listenerCount("warning") === 0) return;
	process.removeAllListeners("warning");
	process.on("warning", listener);
}
