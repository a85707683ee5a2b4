import { isJsonObject } from "../engine/stringify.ts";
import { appendItem, readSettings, refusedSettings, withoutValue } from "../json-text/settings.ts";

/** An entry of a host's settings file that calls a hook. */
export interface HookEntry {
	/** Such as `PostToolUse`. */
	readonly event: string;
	/** For which tools: a regular expression over their names. */
	readonly matcher: string;
	/** The hook itself, its `command` among it. */
	readonly hook: Readonly<Record<string, string | number>>;
	/** Whether a command is one of ours, of this host. */
	readonly isOwn: (command: string) => boolean;
}

/**
 * The text of a settings file (JSON, comments allowed) with a hook entered, once; all else stays as it is, comments too,
 * but for white space on the lines beside it.
 *
 * @throws PalimpsestError `invalid_json` for a file that is none, or whose `hooks` are not what the host makes of them.
 */
export function enterHook(text: string, entry: HookEntry): string {
	const { event, matcher, hook } = entry;
	if (ownPlaces(text, entry).length === 1 && holds(text, entry)) return text;
	return appendItem(removeOwn(text, entry), ["hooks", event], { matcher, hooks: [hook] });
}

/** The text of a settings file without our hook, and without the lists that it leaves empty. */
export function removeHook(text: string, entry: HookEntry): string {
	return ownPlaces(text, entry).length === 0 ? text : removeEmpty(removeOwn(text, entry), entry.event);
}

function removeOwn(text: string, entry: HookEntry): string {
	let left = text;
	// One after the other, from behind: each removal moves what follows it.
	for (const [group, hook] of ownPlaces(text, entry).reverse()) {
		const isLast = hooksIn(listOf(left, entry.event)?.[group]).length === 1;
		left = withoutValue(left, ["hooks", entry.event, group, ...(isLast ? [] : ["hooks", hook])]);
	}
	return left;
}

function removeEmpty(text: string, event: string): string {
	if (listOf(text, event)?.length !== 0) return text;
	const left = withoutValue(text, ["hooks", event]);
	const { hooks } = readSettings(left);
	return isJsonObject(hooks) && Object.keys(hooks).length === 0 ? withoutValue(left, ["hooks"]) : left;
}

/** Where our hooks stand: in which group, and where in its list. */
function ownPlaces(text: string, { event, isOwn }: HookEntry): [group: number, hook: number][] {
	return (listOf(text, event) ?? []).flatMap((group, at) =>
		hooksIn(group).flatMap((hook, position): [number, number][] => {
			const isCommand = isJsonObject(hook) && typeof hook.command === "string" && isOwn(hook.command);
			return isCommand ? [[at, position]] : [];
		}),
	);
}

function holds(text: string, { event, matcher, hook }: HookEntry): boolean {
	const wanted = JSON.stringify({ matcher, hooks: [hook] });
	return (listOf(text, event) ?? []).some((group) => JSON.stringify(group) === wanted);
}

function hooksIn(group: unknown): readonly unknown[] {
	return isJsonObject(group) && Array.isArray(group.hooks) ? group.hooks : [];
}

function listOf(text: string, event: string): readonly unknown[] | undefined {
	const { hooks } = readSettings(text);
	if (hooks === undefined) return undefined;
	if (!isJsonObject(hooks)) throw refusedSettings("`hooks` is no object");
	const list = hooks[event];
	if (list === undefined || Array.isArray(list)) return list;
	throw refusedSettings(`\`hooks.${event}\` is no list`);
}
