import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, stringAt } from "../../formats/json-text/value.ts";
import { listedTools } from "./tool-list.ts";

const mostPages = 100;

/** What the gateway asks the server for itself: a page of `tools/list`; `undefined` if none came in time. */
export type AskPage = (params: { readonly cursor?: string }) => Promise<JsonObject | undefined>;

/** The tools of the server, as it has listed them to the host or, where it did not, to the gateway. */
export function createKnownTools(askPage: AskPage) {
	const tools = new Map<string, JsonObject>();
	/** Whether the server was asked for all since it last said that they change. */
	let hasAsked = false;
	let isOutdated = false;
	/** Changes so far: a list that was asked for before the last one is outdated. */
	let changes = 0;
	let asking: Promise<void> | undefined;

	const keep = (result: JsonObject): void => {
		for (const [name, tool] of listedTools(result)) tools.set(name, tool);
	};
	const askAll = async (): Promise<void> => {
		const before = changes;
		let cursor: string | undefined;
		for (let pages = 0; pages < mostPages; pages += 1) {
			const result = await askPage(cursor === undefined ? {} : { cursor });
			if (result === undefined) return;
			keep(result);
			cursor = stringAt(result, "nextCursor");
			if (cursor === undefined) {
				isOutdated = before !== changes;
				return;
			}
		}
	};
	return {
		/** Of the host's own request. */
		listed(result: JsonObject, isFirstPage: boolean): void {
			if (isFirstPage) {
				tools.clear();
				isOutdated = false;
				hasAsked = false;
			}
			keep(result);
		},
		changed(): void {
			changes += 1;
			isOutdated = true;
			hasAsked = false;
		},
		get: (name: string) => tools.get(name),
		all: (): readonly JsonObject[] => [...tools.values()],
		/** Asks the server where the host has not seen the tool: it may know the list from before. The tool as it was last listed. */
		async find(name: string): Promise<{ readonly tool: JsonObject | undefined; readonly isCurrent: boolean }> {
			if (!hasAsked && (isOutdated || !tools.has(name))) {
				hasAsked = true;
				asking = askAll();
			}
			await asking;
			return { tool: tools.get(name), isCurrent: !isOutdated };
		},
	};
}

/**
 * Who reads the results of a tool. Sources: MCP Apps (SEP-1865, `_meta.ui`, before `ui/resourceUri`), and the Apps SDK of
 * OpenAI. `app`: only a page calls it. `model_and_app`: the model reads the texts, and a page the structured content.
 */
export function readersOf(tool: JsonObject): "model" | "app" | "model_and_app" {
	const meta = objectOf(tool._meta);
	const ui = objectOf(meta.ui);
	if (Array.isArray(ui.visibility) && !listOf(ui.visibility).includes("model")) return "app";
	const isShown = [ui.resourceUri, meta["ui/resourceUri"], meta["openai/outputTemplate"]].some(
		(page) => typeof page === "string",
	);
	return isShown || isJsonObject(meta.ui) ? "model_and_app" : "model";
}
