import type { LocaleName } from "../../../src/engine/policy/names.ts";
import { outputOf } from "../../support/sample-text.ts";

export const formatNames = ["openai-chat", "anthropic-messages", "openai-responses", "gemini", "bedrock"] as const;

type FormatName = (typeof formatNames)[number];

const kinds = ["early", "middle", "revoked", "contradicting"] as const;

/** A rule, the text that takes it back, and one that says the opposite. */
const rules: Readonly<Record<LocaleName, readonly (readonly [string, string, string])[]>> = {
	en: [
		[
			"Never touch the migrations.",
			"The migrations are no longer off limits.",
			"From now on, do change the migrations.",
		],
		["Always run the linter before you commit.", "You don't have to lint any more.", "Never run the linter."],
		["Only write to the folder build/out.", "You may write elsewhere instead.", "Only write to the folder dist."],
		["The port must stay 8443.", "Forget the port.", "The port must be 9443."],
		["Do not add dependencies.", "Ignore what I said on dependencies.", "From now on dependencies are welcome."],
	],
	fr: [
		[
			"Ne touche jamais aux migrations.",
			"Les migrations ne sont plus interdites.",
			"Désormais, change les migrations.",
		],
		["Il faut toujours lancer le linter.", "Oublie le linter.", "Ne lance jamais le linter."],
		["Écris uniquement dans build/out.", "Tu n'es plus limité à ce dossier.", "Écris seulement dans dist."],
		["Le port doit rester 8443.", "Le port ne compte plus.", "Le port doit être 9443."],
		["N'ajoute pas de dépendance.", "Annule ce que j'ai dit des dépendances.", "Il faut ajouter des dépendances."],
	],
	zh: [
		["绝不修改迁移文件。", "迁移文件不再受限。", "从现在起请修改迁移文件。"],
		["提交前必须运行检查。", "不再需要运行检查。", "禁止运行检查。"],
		["只能写入 build/out 目录。", "目录限制取消。", "只能写入 dist 目录。"],
		["端口必须保持 8443。", "端口规定作废。", "端口必须是 9443。"],
		["不要添加依赖。", "关于依赖的要求取消。", "今后可以添加依赖。"],
	],
};

export interface RuledConversation {
	readonly locale: LocaleName;
	readonly kind: (typeof kinds)[number];
	/** By round, what a person writes in it. */
	readonly written: readonly (readonly string[])[];
	/** By round, the rules stated in it, and those that take an earlier one back. */
	readonly rules: readonly (readonly string[])[];
}

/** Sixty conversations of six rounds. */
export const ruledConversations: readonly RuledConversation[] = (["en", "fr", "zh"] as const).flatMap((locale) =>
	kinds.flatMap((kind) => rules[locale].map((of) => ruled(locale, kind, of))),
);

function ruled(
	locale: LocaleName,
	kind: RuledConversation["kind"],
	[rule, revocation, opposite]: readonly [string, string, string],
): RuledConversation {
	const stated: string[][] = Array.from({ length: 6 }, () => []);
	stated[kind === "early" ? 0 : kind === "revoked" ? 1 : 2]?.push(rule);
	if (kind === "revoked") stated[3]?.push(revocation);
	if (kind === "contradicting") stated[4]?.push(opposite);
	const written = stated.map((of, round) => {
		const log = outputOf(`pasted in round ${round}`, 12);
		return [`Task ${round}.\n${log}\n${of.join("\n")}\n${log}`, `Then ${round}:\n\tgo on.`];
	});
	return { locale, kind, written, rules: stated };
}

/** The messages of one round: a person writes, three tool turns, a person writes beside a result, an answer. */
export function roundOf(format: FormatName, round: number, [first = "", second = ""]: readonly string[]): unknown[] {
	const { user, assistant, turn } = writers[format];
	const turns = [0, 1, 2].map((at) => [`call_${round}_${at}`, outputOf(`${round}.${at} of ${format}`)] as const);
	const shown = turns.map(([id, text], at) => turn(id, text, at === 2 ? second : undefined));
	return [user(first), ...shown.flat(), assistant(`Round ${round} is done.`)];
}

export function documentOf(format: FormatName, messages: readonly unknown[]): unknown {
	return { [listOf[format]]: messages };
}

export function messagesOf(format: FormatName, document: unknown): readonly unknown[] {
	return (document as Record<string, readonly unknown[]>)[listOf[format]] ?? [];
}

const listOf: Readonly<Record<FormatName, string>> = {
	"openai-chat": "messages",
	"anthropic-messages": "messages",
	"openai-responses": "input",
	gemini: "contents",
	bedrock: "messages",
};

const input = { path: "src/a.ts" };

interface Writer {
	readonly user: (text: string) => unknown;
	readonly assistant: (text: string) => unknown;
	/** A call and its result, and what a person writes behind it. */
	readonly turn: (id: string, result: string, words?: string) => unknown[];
}

const writers: Readonly<Record<FormatName, Writer>> = {
	"openai-chat": {
		user: (content) => ({ role: "user", content }),
		assistant: (content) => ({ role: "assistant", content }),
		turn: (id, content, words) => [
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id, type: "function", function: { name: "read", arguments: JSON.stringify(input) } }],
			},
			{ role: "tool", tool_call_id: id, content },
			...(words === undefined ? [] : [{ role: "user", content: words }]),
		],
	},
	"anthropic-messages": {
		user: (text) => ({ role: "user", content: [{ type: "text", text }] }),
		assistant: (text) => ({ role: "assistant", content: [{ type: "text", text }] }),
		turn: (id, content, text) => [
			{ role: "assistant", content: [{ type: "tool_use", id, name: "read", input }] },
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: id, content },
					...(text === undefined ? [] : [{ type: "text", text }]),
				],
			},
		],
	},
	"openai-responses": {
		user: (text) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] }),
		assistant: (text) => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] }),
		turn: (id, output, text) => [
			{ type: "function_call", call_id: id, name: "read", arguments: JSON.stringify(input) },
			{ type: "function_call_output", call_id: id, output },
			...(text === undefined ? [] : [writers["openai-responses"].user(text)]),
		],
	},
	gemini: {
		user: (text) => ({ role: "user", parts: [{ text }] }),
		assistant: (text) => ({ role: "model", parts: [{ text }] }),
		turn: (id, output, text) => [
			{ role: "model", parts: [{ functionCall: { id, name: "read", args: input } }] },
			{
				role: "user",
				parts: [
					{ functionResponse: { id, name: "read", response: { output } } },
					...(text === undefined ? [] : [{ text }]),
				],
			},
		],
	},
	bedrock: {
		user: (text) => ({ role: "user", content: [{ text }] }),
		assistant: (text) => ({ role: "assistant", content: [{ text }] }),
		turn: (id, output, text) => [
			{ role: "assistant", content: [{ toolUse: { toolUseId: id, name: "read", input } }] },
			{
				role: "user",
				content: [
					{ toolResult: { toolUseId: id, content: [{ text: output }] } },
					...(text === undefined ? [] : [{ text }]),
				],
			},
		],
	},
};
