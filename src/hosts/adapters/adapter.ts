import { applyPlan } from "../../engine/conversation/apply.ts";
import type { JsonObject } from "../../engine/conversation/json.ts";
import { isRecallTool } from "../../engine/masking/in-use.ts";
import { type Api, createCachingRecord } from "../../proxy/billing/observed-caching.ts";
import { cacheTerms } from "../../proxy/billing/terms.ts";
import type { Usage } from "../../proxy/billing/usage.ts";
import type { Sent } from "../../proxy/sending/facts.ts";
import { isBindingRefusal } from "../../proxy/sending/reasoning.ts";
import { type AgentTool, agentTools } from "../plugins/agent-tools.ts";
import { createSessionEditor, type EditorSettings } from "../plugins/session-editor.ts";

export interface AdapterOptions extends EditorSettings {
	/** The folder whose policy file counts. Default: that of the process. */
	readonly folder?: string | undefined;
	/**
	 * Receives one line, without text of the conversation, for each kind of fault; the request is then sent as it is. Default: a
	 * warning of the process.
	 */
	readonly onFault?: ((line: string) => void) | undefined;
}

/** A request that a framework is about to send, in plain objects that one of our formats reads. */
export interface FrameworkRequest {
	/** The name of the format, as in `src/formats`. */
	readonly format: string;
	/** All of the conversation, each time. */
	readonly messages: readonly unknown[];
	/** Sent beside the messages: counted, never changed. */
	readonly system?: unknown;
	readonly tools: readonly JsonObject[];
	/** The provider and the model, as the framework names them: they set the prices. */
	readonly provider: string;
	readonly model: string | undefined;
	/** The last mark that asks Anthropic's API to cache, such as `{ type: "ephemeral", ttl: "1h" }`. */
	readonly cacheControl?: unknown;
}

/** Messages in the shape of the request; those without an edit are the same objects. `undefined`: send your own. */
type ToSend = readonly unknown[] | undefined;

export type Adapter = ReturnType<typeof createAdapter>;

/**
 * The engine of the plugins for a framework: one for each agent program, since it remembers how each conversation was sent (it
 * knows a conversation by its first calls). No method rejects for a fault of ours. An adapter that stands around the call of
 * the model uses `call`; one that only sees the messages before it uses `edit`, and `answered` where it is told the usage.
 */
export function createAdapter(program: string, options: AdapterOptions = {}) {
	const { folder = process.cwd(), onFault = (line) => process.emitWarning(line) } = options;
	const report = (line: string): void => {
		try {
			onFault(line);
		} catch {
			// A fault of the receiver is no reason to fail either.
		}
	};
	const editor = createSessionEditor({ folder, program, settings: options, tellsUsage: true, report });
	const caching = createCachingRecord();

	const edit = async (request: FrameworkRequest) => {
		const { format, messages, system, tools, provider, model, cacheControl } = request;
		const api = apiOf(`${provider} ${model}`);
		const body = { messages, tools, ...(system === undefined ? {} : { system }) };
		let isExpected = false;
		const edited = await editor.edit<readonly unknown[]>(({ policy, archive }) => {
			const observed = caching.of(api, model);
			const asked = cacheControl === undefined ? {} : { cache_control: cacheControl };
			const terms = cacheTerms(asked, api, policy.prices, { model, observed, at: Date.now() });
			isExpected = terms.caching !== "not_asked";
			const recallTool = tools.map(({ name }) => String(name)).find(isRecallTool);
			return {
				body,
				formats: [format],
				isNamed: true,
				terms,
				model,
				recall: archive && recallTool !== undefined && policy.archive.recall_hint ? { by: recallTool } : undefined,
				isDeadEnd: archive !== undefined && tools.length > 0 && recallTool === undefined,
				write: (edits) => (applyPlan(body, edits) as typeof body).messages,
			};
		});
		if (!edited) return undefined;
		/** Enters the bill of the request, once. */
		const answered = async (usage: Usage | undefined, sent?: Sent): Promise<void> => {
			const repeated = await edited.answered(usage, sent);
			if (usage) caching.learn(api, model, { usage, repeated, isExpected });
		};
		return { ...edited, answered };
	};

	return {
		/** `undefined` after a fault of ours. */
		edit,
		/**
		 * Asks the model with the messages to send, and again in other forms if the provider refuses our edits. `ask` calls
		 * `answered` with the usage of its answer, also later. What it throws otherwise is thrown.
		 */
		async call<Answer>(
			request: FrameworkRequest,
			ask: (messages: ToSend, answered: (usage: Usage | undefined) => void) => PromiseLike<Answer>,
		): Promise<Answer> {
			const edited = await edit(request);
			if (!edited) return ask(undefined, () => {});
			const askWith = (written: ToSend, sent?: Sent) => ask(written, (usage) => void edited.answered(usage, sent));
			try {
				return await askWith(edited.written);
			} catch (error) {
				const refusedFor = refusalIn(error);
				if (refusedFor === undefined) throw error;
				let answer: { readonly value: Answer } | undefined;
				await edited.again(refusedFor, async (form) => {
					try {
						answer = { value: await askWith(form.written, form) };
						return "accepted";
					} catch (later) {
						return refusalIn(later) ?? "no_answer";
					}
				});
				if (!answer) throw error;
				return answer.value;
			}
		},
		/** For the framework to offer. `run` never rejects: an error is a text for the model. */
		tools: agentTools({ searches: false }).map(({ name, description, parameters, run }) => ({
			...{ name, description, parameters },
			run: (input: unknown): Promise<string> => textOf(run, input),
		})),
		/** Resolves once the work beside the last request has ended. */
		settled: editor.settled,
	};

	async function textOf(run: AgentTool["run"], input: unknown): Promise<string> {
		try {
			return await run((input ?? {}) as JsonObject, () => editor);
		} catch (error) {
			return error instanceof Error ? error.message : "The original cannot be read.";
		}
	}
}

function apiOf(names: string): Api {
	if (/claude|anthropic/i.test(names)) return "anthropic";
	return /gemini|google|vertex/i.test(names) ? "gemini" : "openai";
}

/** The text of a failed result whose flag the framework's class for the provider does not send. */
export function sayingError(text: string): string {
	return /^\W*error/i.test(text) ? text : `Error: ${text}`;
}

const deepestCause = 5;

/** Whether a provider has refused a request (400), and whether for its reasoning. SDKs name the status in different ways. */
export function refusalIn(error: unknown, depth = 0): "reasoning" | "something_else" | undefined {
	if (typeof error !== "object" || error === null || depth > deepestCause) return undefined;
	const { statusCode, status, code, message, responseBody, cause } = error as JsonObject;
	if (![statusCode, status, code].includes(400)) return refusalIn(cause, depth + 1);
	return isBindingRefusal({}, `${message} ${responseBody}`) ? "reasoning" : "something_else";
}
