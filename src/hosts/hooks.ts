import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { isJsonObject } from "../engine/conversation/json.ts";
import {
	appendItem,
	entryInJson,
	isBlank,
	refusedSettings,
	removeFromJson,
	withoutValue,
} from "../formats/json-text/settings.ts";
import { objectsOf, stringAt } from "../formats/json-text/value.ts";
import { packageFile, version } from "../version.ts";
import type { HookEntry, HookFile, HookHost, PluginHost } from "./host.ts";
import { enteredCommand, shellArgument } from "./own-command.ts";

type HookTarget = { readonly kind: "entries"; readonly file: string; readonly entries: readonly OwnEntry[] } | HookFile;

interface OwnEntry extends HookEntry {
	readonly isOwn: (command: string) => boolean;
}

/** Where a host's hook or plugin is entered, and what. */
export function hookTarget(host: HookHost, how: PluginChoices & { readonly isForProject: boolean }): HookTarget {
	const { isForProject, mostChars, locale } = how;
	const where = {
		homeFolder: homedir(),
		environment: process.env,
		projectFolder: isForProject ? process.cwd() : undefined,
	};
	if (host.kind === "plugin") {
		return { kind: "file", file: host.file(where), text: pluginText(host, how), mark: pluginMark };
	}
	const parameters = ["hook", host.name, "--max-chars", String(mostChars), ...(locale ? ["--locale", locale] : [])];
	const line = [...enteredCommand(), ...parameters].map(shellArgument).join(" ");
	const settings = host.settings(line, where);
	if (settings.kind === "file") return settings;
	const isOwn = (one: string) => /palimpsest|cli\.js/i.test(one) && one.includes(` hook ${host.name}`);
	return { ...settings, entries: settings.entries.map((entry) => ({ ...entry, isOwn })) };
}

/** Settings (JSON with comments) with the hook, once; all else stays unchanged. Throws `invalid_json`. */
export function withHook(text: string | undefined, target: HookTarget): string {
	return target.kind === "file" ? target.text : target.entries.reduce(enterHook, text ?? "");
}

/** Settings without the hook; `undefined` to delete the file. Somebody else's file stays. Throws `invalid_json`. */
export function withoutHook(text: string | undefined, target: HookTarget): string | undefined {
	if (text === undefined) return undefined;
	if (target.kind === "entries") return target.entries.reduce(removeHook, text);
	return text.includes(target.mark) ? undefined : text;
}

/** The command lines of our hooks in settings. Throws `invalid_json`. */
export function enteredHooks(text: string, target: HookTarget): readonly string[] {
	const entries = target.kind === "entries" ? target.entries : [];
	const lines = entries.flatMap((entry) => {
		const groups = groupsOf(text, entry.event);
		return ownPlaces(text, entry).map(([group, hook]) => (hooksIn(groups[group])[hook] as { command: string }).command);
	});
	if (target.kind === "file" && target.commands && text.includes(target.mark)) {
		const { list, member } = target.commands;
		lines.push(...objectsOf(entryInJson(text, list)).flatMap((hook) => stringAt(hook, member) ?? []));
	}
	return [...new Set(lines)];
}

function enterHook(text: string, entry: OwnEntry): string {
	const { event, matcher, hook } = entry;
	const group = { matcher, hooks: [hook] };
	const isThere = groupsOf(text, event).some((one) => JSON.stringify(one) === JSON.stringify(group));
	if (isThere && ownPlaces(text, entry).length === 1) return text;
	return appendItem(removeOwn(text, entry), ["hooks", event], group);
}

function removeHook(text: string, entry: OwnEntry): string {
	if (ownPlaces(text, entry).length === 0) return text;
	const left = removeOwn(text, entry);
	const list = ["hooks", entry.event];
	return isBlank(left, list) ? removeFromJson(left, list) : left;
}

function removeOwn(text: string, entry: OwnEntry): string {
	let left = text;
	// From the last one: a removal moves the later places.
	for (const [group, hook] of ownPlaces(text, entry).reverse()) {
		const isLast = hooksIn(groupsOf(left, entry.event)[group]).length === 1;
		left = withoutValue(left, ["hooks", entry.event, group, ...(isLast ? [] : ["hooks", hook])]);
	}
	return left;
}

function ownPlaces(text: string, { event, isOwn }: OwnEntry): [group: number, hook: number][] {
	return groupsOf(text, event).flatMap((group, at) =>
		hooksIn(group).flatMap((hook, position): [number, number][] => {
			const isCommand = isJsonObject(hook) && typeof hook.command === "string" && isOwn(hook.command);
			return isCommand ? [[at, position]] : [];
		}),
	);
}

function hooksIn(group: unknown): readonly unknown[] {
	return isJsonObject(group) && Array.isArray(group.hooks) ? group.hooks : [];
}

function groupsOf(text: string, event: string): readonly unknown[] {
	const hooks = entryInJson(text, ["hooks"]) ?? {};
	if (!isJsonObject(hooks)) throw refusedSettings("`hooks` is not an object");
	const { [event]: groups = [] } = hooks;
	if (Array.isArray(groups)) return groups;
	throw refusedSettings(`\`hooks.${event}\` is not a list`);
}

interface PluginChoices {
	readonly mostChars: number;
	readonly locale?: string | undefined;
}

/** Every plugin file contains it. */
const pluginMark = "Written by palimpsest";

function pluginText({ name, module, code }: PluginHost, { mostChars, locale }: PluginChoices): string {
	const options = { command: enteredCommand(), mostChars, ...(locale === undefined ? {} : { locale }) };
	return `// Masks old tool results and cuts large ones in ${name}. ${pluginMark} ${version}; delete this file to undo it.
const plugin = ${JSON.stringify(packageFile(`dist/${module}`).href)};
const options = ${JSON.stringify(options)};

${code}`;
}

/** The path of the module that a plugin file of ours imports; `undefined` for another file. */
export function pluginModule(text: string): string | undefined {
	const [, address] = /^const plugin = "(file:[^"]+)";$/m.exec(text) ?? [];
	return text.includes(pluginMark) && address !== undefined ? fileURLToPath(address) : undefined;
}
