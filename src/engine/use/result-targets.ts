import { callArguments } from "../call-arguments.ts";
import { pairResults } from "../pairing.ts";
import type { Message, ToolCall, Transcript } from "../transcript.ts";
import { callTarget } from "./call-target.ts";
import { isAbsolute, normalisePath } from "./normalise-path.ts";
import { type CallTarget, type FileRead, otherTarget } from "./target.ts";

/**
 * The target of the call behind each result, in the order of `pairResults`, with what only the conversation tells: the
 * file that an earlier call opened, and the working folder, so that `src/a.ts` and `/home/me/project/src/a.ts` are one
 * file. Each is found from what stands before it, so a longer conversation changes none.
 */
export function resultTargets(transcript: Transcript): readonly CallTarget[] {
	let found = known.get(transcript);
	if (!found) {
		found = resolveAll(transcript);
		known.set(transcript, found);
	}
	return found;
}

const known = new WeakMap<Transcript, readonly CallTarget[]>();
const targetsOfCalls = new WeakMap<ToolCall, CallTarget>();
const argumentsOfCalls = new WeakMap<ToolCall, string | undefined>();

/** The arguments of a call as text; `undefined` where the format does not count them apart. */
export function argumentsOfCall(message: Message, call: ToolCall): string | undefined {
	if (!argumentsOfCalls.has(call)) {
		const texts = callArguments(message);
		message.calls.forEach((one, index) => {
			argumentsOfCalls.set(one, texts[index]);
		});
	}
	return argumentsOfCalls.get(call);
}

function resolveAll(transcript: Transcript): CallTarget[] {
	const resolve = resolver();
	return pairResults(transcript).map(({ call, caller }) => {
		const message = caller === undefined ? undefined : transcript.messages[caller];
		if (!call || !message) return otherTarget;
		let target = targetsOfCalls.get(call);
		if (!target) {
			target = callTarget({ name: call.name, argumentsText: argumentsOfCall(message, call) });
			targetsOfCalls.set(call, target);
		}
		return resolve(target);
	});
}

/** Most absolute paths with the same last part that are held against a relative one. */
const mostAlike = 16;

/** Resolves targets one after the other, oldest first. */
function resolver(): (target: CallTarget) => CallTarget {
	let folder: string | undefined;
	let openFile: string | undefined;
	const absolutes = new Map<string, string[]>();

	/** An absolute path seen before that ends with a relative one of two parts or more tells the working folder. */
	const learn = (path: string) => {
		const name = path.slice(path.lastIndexOf("/") + 1);
		if (isAbsolute(path)) {
			const alike = absolutes.get(name) ?? [];
			if (alike.length < mostAlike && !alike.includes(path)) alike.push(path);
			absolutes.set(name, alike);
		} else if (folder === undefined && path.includes("/") && !path.startsWith("..")) {
			const whole = (absolutes.get(name) ?? []).filter((one) => one.endsWith(`/${path}`));
			if (whole.length === 1) folder = whole[0]?.slice(0, -path.length - 1) || undefined;
		}
	};
	const absolute = (path: string) =>
		folder === undefined || isAbsolute(path) ? path : (normalisePath(path, folder) ?? path);

	return (target) => {
		if (target.folder !== undefined && isAbsolute(target.folder)) folder ??= target.folder;
		for (const path of target.paths) learn(path);
		if (target.openFile !== undefined) {
			const opened = target.reads[0]?.path ?? target.writes[0];
			if (opened !== undefined) openFile = absolute(opened);
		}
		return resolveTarget(target, { absolute, openFile });
	};
}

function resolveTarget(
	target: CallTarget,
	{ absolute, openFile }: { absolute: (path: string) => string; openFile: string | undefined },
): CallTarget {
	const isNamed = target.reads.length > 0 || target.writes.length > 0;
	if (target.openFile !== undefined && !isNamed && openFile !== undefined) {
		const read: FileRead = { path: openFile, lines: "part" };
		const isWrite = target.openFile === "write";
		return { ...target, paths: [openFile], reads: isWrite ? [] : [read], writes: isWrite ? [openFile] : [] };
	}
	if (target.paths.length === 0 && !isNamed) return target;
	return {
		...target,
		paths: target.paths.map(absolute),
		reads: target.reads.map(({ path, lines }) => ({ path: absolute(path), lines })),
		writes: target.writes.map(absolute),
	};
}
