import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { inPlaceOfSummary, maskedRows, mediaOfResults, oldResults, tokensLeftOut, windows } from "./compaction.ts";
import { type Content, cutArrival, warmUp } from "./cut.ts";
import type { Disk } from "./disk.ts";
import type { On } from "./engine.ts";
import { openModFigures } from "./figures.ts";
import { findOriginal, keepOriginal } from "./originals.ts";
import { chosen, coldLine, overview, priceOfMasking, resultsInView } from "./overview.ts";
import { answerRecall, recallName, recallTool } from "./recall.ts";
import { startRequests } from "./requests.ts";
import { savedFile } from "./saved.ts";
import { isProxy, modState, policyFilesOf, proxyToAsk } from "./settings.ts";
import { startTalk } from "./talk.ts";

/** Then the result stays whole: the program waits for it. */
const longestWaitMs = 2_000;

/** Smaller sessions cost little to send again. */
const leastColdTokens = 50_000;

/** Claude Code hands over no more rows of a conversation. */
const mostRows = 4_096;

/** Of the process, which compiles the code once. */
let isWarm = false;

/**
 * The module that Claude Code loads with our plugin. It cuts a large result before Claude Code stores and sends it, so that the same bytes
 * are in every later request, and answers the model that reads an original. No fault of ours keeps a result from the model: it stays whole.
 */
export function register(on: On, options: JsonObject): void {
	const talk = startTalk();
	const requests = startRequests();
	/** Calls whose results a person keeps in view. */
	const kept = new Set<string>();
	/** A person wants old results masked: the next compaction does that, whatever it leaves. */
	let isMaskingAsked = false;
	let isInteractive = true;
	let hasArrived = false;
	let cold: { readonly tokens: number; readonly usd: number | undefined } | undefined;
	let state: ReturnType<typeof modState> | undefined;
	let figures: ReturnType<typeof openModFigures> | undefined;
	let results = "";
	let disk: Disk | undefined;

	on("session.start", async ($, e, next) => {
		isInteractive = e.isInteractive !== false;
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
		const address = state.settings.isBehindProxy ? undefined : proxyToAsk(environment);
		if (address !== undefined) {
			const { ok, text } = await $.http.fetch(address).catch(() => ({ ok: false, text: "" }));
			if (ok && isProxy(text)) state = { ...state, settings: { ...state.settings, isBehindProxy: true } };
		}
		results = transcriptPath.replace(/\.jsonl$/, "");
		figures = openModFigures(await $.session.id(), surroundings.folder, state.settings);
		await $.env.set("PALIMPSEST_MOD", "1");
		await $.tool.register({ ...recallTool, isDeferred: false });
		await $.command.register({
			name: "palimpsest",
			description: "Shows what fills the window, and masks, keeps or recalls results of tools",
			argumentHint: "[mask | keep 1 2 | recall 1]",
		});
		const { settings } = state;
		if (!isWarm) setTimeout(() => void warmUp(settings, () => hasArrived).catch(() => {}), 0);
		isWarm = true;
		if (cold) $.ui.log(`palimpsest: ${coldLine(await $.session.messages(), cold)}`);
		return next(e);
	}).catch((_, e, next) => next(e));

	on("session.append", async (_, e, next) => {
		talk.heard(e);
		if (e.door !== "tool-result" || state?.kind !== "active" || !disk) return next(e);
		const [{ settings }, files] = [state, disk];
		hasArrived = true;
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

	// The hook of the same plugin, for programs without mods, would cut the same result first. Its call raises no `tool.call`.
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
			const { agentId, effort } = e;
			const agents = agentId === undefined ? [] : await $.agent.list().catch(() => []);
			const agent = agentId && (agents.find(({ id }) => id === agentId)?.type ?? agentId);
			const at = Date.now();
			for (const figure of requests.answered(result.usage, { agentId, agent, effort, at }))
				void figures.add(figure, at, disk);
		}
		return result;
	}).catch(async function* (_, e, next) {
		return yield* next(e);
	});

	on("classic.SessionStart", async (_, e, next) => {
		const { source, prompt_cache_likely_expired: isCold, context_tokens: tokens = 0 } = e;
		if ((source === "resume" || source === "fork") && isCold) {
			requests.resumedCold(tokens, Date.now());
			if (tokens > leastColdTokens) cold = { tokens, usd: e.estimated_cache_write_usd };
		}
		return next(e);
	}).catch((_, e, next) => next(e));

	on("session.compact", async ($, e, next) => {
		const { messages: rows, agentId, trigger } = e;
		if (state?.kind !== "active" || !disk) return next(e);
		const [{ settings }, files] = [state, disk];
		const isAsked = isMaskingAsked && trigger !== "precompute";
		if (isAsked) isMaskingAsked = false;
		// Then the hook of the same plugin gives back what people said.
		if (trigger !== "precompute") await $.env.set("PALIMPSEST_MOD", "1");
		const { context } = await $.session.usage({ breakdown: "summary" });
		const { tokens, window, breakdown } = context;
		const isOurs =
			tokens !== undefined && settings.masks && agentId === undefined && !e.instructions && rows.length < mostRows;
		const contextWindow = breakdown?.rawMaxTokens ?? window;
		const old = !isOurs
			? undefined
			: isAsked
				? oldResults(rows, { windowTurns: windows[0], kept })
				: inPlaceOfSummary(rows, { tokens, contextWindow, kept });
		if (isAsked && !old?.length) return { skip: "no result is old enough to be masked" };
		if (old === undefined || tokens === undefined) {
			if (trigger !== "precompute") requests.compacted("program", agentId);
			return next(e);
		}
		if (trigger === "precompute") return { skip: "old results are masked in place of a summary" };
		const at = Date.now();
		const where = { disk: files, folder: settings.archive };
		const masked = await maskedRows(rows, old, {
			locale: settings.locale,
			media: mediaOfResults(await $.session.messages({ as: "api" })),
			archive: {
				keep: ({ id, toolName, text, hash }) => keepOriginal({ text, hash, toolCallId: id, toolName, at }, where),
				has: async (ref) => (await findOriginal(ref, where)) !== undefined,
			},
		}).catch(() => undefined);
		if (masked === undefined) {
			if (isAsked) return { skip: "the originals could not be archived" };
			requests.compacted("program");
			return next(e);
		}
		const left = Math.max(0, tokens - tokensLeftOut(old));
		const price = priceOfMasking(left, rows, { model: await $.session.model(), at });
		$.ui.log(`palimpsest: ${old.length} old results masked in place of a summary, some ${left} tokens left. ${price}`);
		await $.env.set("PALIMPSEST_MOD", "masked");
		requests.compacted("mod");
		return { messages: masked };
	}).catch((_, e, next) => next(e));

	on("turn.complete", async ($, e, next) => {
		const completed = await next(e);
		if (state?.kind !== "active" || state.settings.compactAt === 0 || e.agentId !== undefined) return completed;
		const { context } = await $.session.usage({ breakdown: "summary" });
		const window = context.breakdown?.rawMaxTokens ?? context.window;
		if ((100 * (context.tokens ?? 0)) / window >= state.settings.compactAt)
			void $.command.run({ command: "compact" }).catch(() => {});
		return completed;
	}).catch((_, e, next) => next(e));

	on("command.run", { command: "palimpsest" }, async ($, e, next) => {
		if (state?.kind !== "active") return next(e);
		const rows = await $.session.messages();
		const { largest, recallable } = resultsInView(rows);
		const { context } = await $.session.usage({ breakdown: "summary" });
		const { categories = [], rawMaxTokens = context.window } = context.breakdown ?? {};
		const used = categories.filter(({ kind }) => kind === "used");
		const tokens = context.tokens ?? used.reduce((sum, part) => sum + part.tokens, 0);
		const usage = { tokens, window: rawMaxTokens, parts: used };
		const model = await $.session.model();
		const shown = () => overview(rows, { usage, model, at: Date.now(), kept });
		let [, action = "", which = ""] = /^\s*(mask|keep|recall)?\s*(.*)$/s.exec(e.args) ?? [];
		if (action === "") {
			const offered = ["Mask old results", "Keep results", "Recall an original", "Nothing"];
			const answer = await $.ui.ask(`${shown()}\n\nWhat now?`, { header: "Window", options: offered }).catch(() => "");
			action = ["mask", "keep", "recall"][offered.indexOf(answer)] ?? "";
			const list = action === "keep" ? largest : action === "recall" ? recallable : [];
			const options = list.slice(0, 4).map(({ label }, at) => `${at + 1}. ${label}`);
			if (options.length > 0)
				which = await $.ui
					.ask("Which?", { header: "Results", options, multiSelect: action === "keep" })
					.catch(() => "");
		}
		const text = shown();
		if (action === "mask") {
			// A run of one prompt ends before the session is idle.
			if (!isInteractive) return { text: "Expected a session with a person; here /compact masks old results." };
			isMaskingAsked = true;
			void $.command.run({ command: "compact" }).catch(() => {
				isMaskingAsked = false;
			});
			return { text: "Old results are masked as soon as the session is idle.", isTextDisplayOnly: true };
		}
		if (action === "keep") {
			const picked = chosen(largest, which);
			for (const { id } of picked) kept.add(id);
			return {
				text: `These stay in view:\n${picked.map(({ label }) => `  ${label}`).join("\n")}`,
				isTextDisplayOnly: true,
			};
		}
		const refs = action === "recall" ? chosen(recallable, which).map(({ ref }) => ref) : [];
		if (refs.length > 0) {
			const draft = `Read ${refs.join(", ")} with ${recallName}.`;
			await $.prompt.fill({ text: draft, mode: "append" }).catch(() => {});
			return { text: draft, isTextDisplayOnly: true };
		}
		return { text, isTextDisplayOnly: true };
	}).catch((_, e, next) => next(e));
}

/** The tool of the server that the plugin brings for programs without mods. */
const ofOurServer = /^mcp__plugin_palimpsest_palimpsest__recall_original$/;

/** A policy that is there and cannot be read may ask for a redaction: this is no TOML. */
const noFile = (error: unknown) => (/\b(?:ENOENT|ENOTDIR)$/.test(String(error)) ? undefined : "unreadable");
