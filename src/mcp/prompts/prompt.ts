/** A text that a person asks for by name, in hosts that turn prompts into slash commands. */
export interface Prompt {
	readonly name: string;
	readonly title: string;
	readonly description: string;
	/** What may be filled in; none is required. */
	readonly arguments: Readonly<Record<string, PromptArgument>>;
	/** The text that the agent is given. */
	readonly write: (given: Readonly<Record<string, string | undefined>>) => string;
}

/** One argument of a prompt. Every value is text, as the protocol has it. */
export interface PromptArgument {
	readonly description: string;
	/** What a host offers to somebody who types. */
	readonly complete?: (typed: string) => string[] | Promise<string[]>;
}
