import type { JsonObject } from "../../engine/conversation/json.ts";
import type { Row } from "./compaction.ts";
import type { StepUsage } from "./requests.ts";

// What the mod uses of Claude Code (https://code.claude.com/docs/en/plugins/mods/reference). Claude Code reads the module before it
// runs it: each event's name has to stand in the call, and `$` may be handed to nobody.

export interface Engine {
	readonly session: {
		readonly id: () => Promise<string>;
		readonly root: () => Promise<string>;
		readonly info: () => Promise<{ readonly transcriptPath?: string; readonly platform?: string }>;
		readonly model: () => Promise<string>;
		readonly messages: {
			(): Promise<readonly Row[]>;
			(form: { readonly as: "api" }): Promise<readonly { readonly content: unknown }[]>;
		};
		readonly usage: (form: { readonly breakdown: "summary" }) => Promise<SessionUsage>;
	};
	readonly env: {
		readonly get: (name: string) => Promise<string | undefined>;
		readonly set: (name: string, value: string) => Promise<unknown>;
	};
	readonly fs: {
		readonly read: (path: string) => Promise<string>;
		readonly write: (path: string, text: string) => Promise<void>;
		readonly list: (path: string) => Promise<readonly { readonly name: string }[]>;
		readonly stat: (path: string) => Promise<{ readonly size: number; readonly mtimeMs: number }>;
	};
	readonly process: { readonly run: (argv: readonly string[]) => Promise<unknown> };
	readonly agent: { readonly list: () => Promise<readonly { readonly id: string; readonly type: string }[]> };
	readonly tool: { readonly register: (tool: object) => Promise<unknown> };
	readonly command: {
		readonly register: (command: object) => Promise<unknown>;
		readonly run: (command: { readonly command: string }) => Promise<unknown>;
	};
	readonly prompt: { readonly fill: (draft: { readonly text: string; readonly mode: "append" }) => Promise<unknown> };
	readonly http: { readonly fetch: (url: string) => Promise<{ readonly ok: boolean; readonly text: string }> };
	readonly ui: {
		readonly log: (text: string) => void;
		/** Rejects where nobody answers. */
		readonly ask: (question: string, options: object) => Promise<string>;
	};
}

interface SessionUsage {
	readonly context: {
		/** Of the last answer; absent until there is one. */
		readonly tokens?: number;
		readonly window: number;
		readonly breakdown?: {
			readonly rawMaxTokens: number;
			readonly categories: readonly { readonly name: string; readonly tokens: number; readonly kind: string }[];
		};
	};
}

export type Next<Event, Result> = (event: Event) => Promise<Result>;

export interface Registration<Handler> {
	readonly catch: (handler: Handler) => void;
}

type Handler<Event, Result = unknown> = ($: Engine, event: Event, next: Next<Event, Result>) => Promise<Result>;

type StreamHandler<Event, Result> = (
	$: Engine,
	event: Event,
	next: (event: Event) => AsyncGenerator<unknown, Result>,
) => AsyncGenerator<unknown, Result>;

/** A row of a conversation before it is stored. */
export interface AppendEvent {
	readonly door: string;
	readonly agentId?: string;
	readonly origin?: { readonly kind: string; readonly tool?: string };
	readonly message: { readonly isMeta?: true; readonly content: readonly JsonObject[] };
}

export interface StepEvent {
	readonly agentId?: string;
	readonly effort?: string;
}

export interface StartEvent {
	/** Whether a person is at the prompt. */
	readonly isInteractive?: boolean;
}

/** What Claude Code tells a hook of its settings when a session begins. */
export interface HookStartEvent {
	readonly source?: string;
	readonly context_tokens?: number;
	readonly prompt_cache_likely_expired?: boolean;
	readonly estimated_cache_write_usd?: number;
}

export interface CompactEvent {
	readonly trigger: "manual" | "auto" | "plugin" | "precompute";
	readonly agentId?: string;
	/** What the summary should keep, in a person's words. */
	readonly instructions?: string;
	readonly messages: readonly Row[];
}

export type CompactResult = { readonly messages: readonly Row[] } | { readonly skip: string };

export interface CommandEvent {
	readonly args: string;
}

export interface StepResult {
	readonly usage: StepUsage | null;
}

export interface On {
	(event: "session.start", handler: Handler<StartEvent>): Registration<Handler<StartEvent>>;
	(event: "session.append", handler: Handler<AppendEvent>): Registration<Handler<AppendEvent>>;
	(
		event: "turn.step",
		handler: StreamHandler<StepEvent, StepResult>,
	): Registration<StreamHandler<StepEvent, StepResult>>;
	(
		event: "tool.call" | "tool.check",
		matcher: { readonly tool: string },
		handler: Handler<JsonObject>,
	): Registration<Handler<JsonObject>>;
	(event: "tool.list", handler: Handler<object>): Registration<Handler<object>>;
	(event: "classic.SessionStart", handler: Handler<HookStartEvent>): Registration<Handler<HookStartEvent>>;
	(
		event: "session.compact",
		handler: Handler<CompactEvent, CompactResult>,
	): Registration<Handler<CompactEvent, CompactResult>>;
	(event: "turn.complete", handler: Handler<StepEvent>): Registration<Handler<StepEvent>>;
	(
		event: "command.run",
		matcher: { readonly command: "palimpsest" },
		handler: Handler<CommandEvent>,
	): Registration<Handler<CommandEvent>>;
}
