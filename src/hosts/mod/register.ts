import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { type Content, cutArrival } from "./cut.ts";
import type { Disk } from "./disk.ts";
import type { On } from "./engine.ts";
import { openModFigures, requestFigure } from "./figures.ts";
import { keepOriginal } from "./originals.ts";
import { answerRecall, recallTool } from "./recall.ts";
import { savedFile } from "./saved.ts";
import { modState, policyFilesOf } from "./settings.ts";
import { startTalk } from "./talk.ts";

/** Then the result stays whole: the program waits for it. */
const longestWaitMs = 2_000;

/**
 * The module that Claude Code loads with our plugin. It cuts a large result before Claude Code stores and sends it, so that the same bytes
 * are in every later request, and answers the model that reads an original. No fault of ours keeps a result from the model: it stays whole.
 */
export function register(on: On, options: JsonObject): void {
	const talk = startTalk();
	let state: ReturnType<typeof modState> | undefined;
	let figures: ReturnType<typeof openModFigures> | undefined;
	let results = "";
	let disk: Disk | undefined;

	on("session.start", async ($, e, next) => {
		disk = {
			read: (path) => $.fs.read(path),
			write: (path, text) => $.fs.write(path, text),
			names: async (folder) => (await $.fs.list(folder)).map(({ name }) => name),
			stat: (path) => $.fs.stat(path),
			touch: async (path) => void (await $.process.run(["touch", "-c", path])),
		};
		const { transcriptPath = "", platform = "" } = await $.session.info();
		// Claude Code lists the variables that a module reads, so that each name has to stand here.
		const environment = {
			HOME: await $.env.get("HOME"),
			USERPROFILE: await $.env.get("USERPROFILE"),
			LOCALAPPDATA: await $.env.get("LOCALAPPDATA"),
			APPDATA: await $.env.get("APPDATA"),
			XDG_STATE_HOME: await $.env.get("XDG_STATE_HOME"),
			XDG_CONFIG_HOME: await $.env.get("XDG_CONFIG_HOME"),
			LC_ALL: await $.env.get("LC_ALL"),
			LC_MESSAGES: await $.env.get("LC_MESSAGES"),
			LANG: await $.env.get("LANG"),
			PALIMPSEST_ARCHIVE: await $.env.get("PALIMPSEST_ARCHIVE"),
			PALIMPSEST_NAMESPACE: await $.env.get("PALIMPSEST_NAMESPACE"),
			PALIMPSEST_POLICY: await $.env.get("PALIMPSEST_POLICY"),
			PALIMPSEST_PRESET: await $.env.get("PALIMPSEST_PRESET"),
			PALIMPSEST_LOCALE: await $.env.get("PALIMPSEST_LOCALE"),
			PALIMPSEST_ARCHIVE_REDACT: await $.env.get("PALIMPSEST_ARCHIVE_REDACT"),
			PALIMPSEST_ARCHIVE_REDACT_CREDENTIALS: await $.env.get("PALIMPSEST_ARCHIVE_REDACT_CREDENTIALS"),
			PALIMPSEST_FIGURES: await $.env.get("PALIMPSEST_FIGURES"),
			PALIMPSEST_PROXY: await $.env.get("PALIMPSEST_PROXY"),
			ANTHROPIC_BASE_URL: await $.env.get("ANTHROPIC_BASE_URL"),
		};
		const surroundings = { platform, environment, folder: await $.session.root() };
		const files = policyFilesOf(surroundings);
		const texts = await Promise.all(files.map((file) => $.fs.read(file).catch(noFile)));
		state = modState({ options, surroundings, texts });
		if (state.kind === "passive") {
			$.ui.log(`palimpsest leaves results to its hook: ${state.reason}`);
			return next(e);
		}
		results = transcriptPath.replace(/\.jsonl$/, "");
		figures = openModFigures(await $.session.id(), surroundings.folder, state.settings);
		await $.env.set("PALIMPSEST_MOD", "1");
		await $.tool.register({ ...recallTool, isDeferred: false });
		return next(e);
	}).catch((_, e, next) => next(e));

	on("session.append", async (_, e, next) => {
		talk.heard(e);
		if (e.door !== "tool-result" || state?.kind !== "active" || !disk) return next(e);
		const [{ settings }, files] = [state, disk];
		let isLate = false;
		const shorten = async (block: JsonObject): Promise<JsonObject> => {
			const { tool_use_id: id, content } = block;
			if (block.type !== "tool_result" || typeof id !== "string") return block;
			if (typeof content !== "string" && !Array.isArray(content)) return block;
			const call = talk.callOf(id, e);
			const saved = await savedFile(content as Content, { folder: results, disk: files });
			const hasFailed = block.is_error === true;
			const cut = await cutArrival({ ...call, content: content as Content, hasFailed, saved }, settings);
			if (cut === undefined || isLate) return block;
			const at = Date.now();
			const kept = cut.originals.map((original) =>
				keepOriginal(
					{ ...original, toolCallId: id, toolName: call.toolName, at },
					{ disk: files, folder: settings.archive },
				),
			);
			await Promise.all(kept);
			if (isLate) return block;
			const figure = {
				kind: "result",
				by: "plugin",
				chars_before: cut.charsBefore,
				chars_after: cut.charsAfter,
			} as const;
			if (cut.charsAfter < cut.charsBefore) void figures?.add(figure, at, files);
			return { ...block, content: cut.content };
		};
		let timer: ReturnType<typeof setTimeout> | undefined;
		const late = new Promise<undefined>((resolve) => {
			timer = setTimeout(() => {
				isLate = true;
				resolve(undefined);
			}, longestWaitMs);
		});
		const shortened = Promise.all(e.message.content.map(shorten)).catch(() => undefined);
		const content = await Promise.race([shortened, late]);
		clearTimeout(timer);
		return next(content === undefined ? e : { ...e, message: { ...e.message, content } });
	}).catch((_, e, next) => next(e));

	// The model has our tool without asking a person: the program asks for permission after this.
	on("tool.call", { tool: "mcp__palimpsest__recall_original" }, async (_, e, next) => {
		if (state?.kind !== "active" || !disk) return next(e);
		const result = await answerRecall(e, { disk, folder: state.settings.archive });
		return { result };
	}).catch(async () => ({ deny: "The original could not be read now. Run `palimpsest recall REF` in a shell." }));

	// The hook of the same plugin, for programs without mods, would cut the same result first.
	on("tool.check", { tool: "mcp__plugin_palimpsest_palimpsest__shorten_result" }, async (_, e, next) => {
		return state?.kind === "active" ? { decision: "deny", reason: "The mod of this plugin does it." } : next(e);
	}).catch((_, e, next) => next(e));

	on("tool.list", async (_, e, next) => {
		const listed = await next(e);
		if (state?.kind !== "active" || !isJsonObject(listed) || !Array.isArray(listed.value)) return listed;
		const isOther = (tool: unknown) => !isJsonObject(tool) || !ofOurServer.test(String(tool.name));
		return { ...listed, value: listed.value.filter(isOther) };
	}).catch((_, e, next) => next(e));

	on("turn.step", async function* ($, e, next) {
		const result = yield* next(e);
		if (figures && disk && result.usage && state?.kind === "active" && !state.settings.isBehindProxy) {
			const { agentId } = e;
			const agents = agentId === undefined ? [] : await $.agent.list().catch(() => []);
			const agent = agentId && (agents.find(({ id }) => id === agentId)?.type ?? agentId);
			const at = Date.now();
			void figures.add(requestFigure(result.usage, { agent, at }), at, disk);
		}
		return result;
	}).catch(async function* (_, e, next) {
		return yield* next(e);
	});
}

/** The tool of the server that the plugin brings for programs without mods. */
const ofOurServer = /^mcp__plugin_palimpsest_palimpsest__recall_original$/;

/** A policy that is there and cannot be read may ask for a redaction: this is no TOML. */
const noFile = (error: unknown) => (/\b(?:ENOENT|ENOTDIR)$/.test(String(error)) ? undefined : "unreadable");
