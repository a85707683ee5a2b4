import type { JsonObject } from "../../engine/conversation/json.ts";
import type { StepUsage } from "./figures.ts";

// What the mod uses of Claude Code (https://code.claude.com/docs/en/plugins/mods/reference). Claude Code reads the module before it
// runs it: each event's name has to stand in the call, and `$` may be handed to nobody.

export interface Engine {
	readonly session: {
		readonly id: () => Promise<string>;
		readonly root: () => Promise<string>;
		readonly info: () => Promise<{ readonly transcriptPath?: string; readonly platform?: string }>;
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
	readonly ui: { readonly log: (text: string) => void };
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
}

export interface StepResult {
	readonly usage: StepUsage | null;
}

export interface On {
	(event: "session.start", handler: Handler<object>): Registration<Handler<object>>;
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
}
