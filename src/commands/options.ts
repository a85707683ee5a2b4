import { type Command, InvalidArgumentError } from "commander";

export const policyFile = "policy file; by default palimpsest.toml here, else in the configuration folder";

export function addCommand(parent: Command, signature: string, description: string): Command {
	return withPolicy(parent.command(signature).description(description));
}

export function addArchiving(parent: Command, signature: string, description: string): Command {
	return withArchive(addCommand(parent, signature, description));
}

export function withPolicy(command: Command): Command {
	return command
		.option("--policy <file>", policyFile)
		.option("--set <key=value>", "set one policy field; repeatable", repeatable);
}

export function withArchive(command: Command): Command {
	return command
		.option("--archive <where>", "where originals are kept: files (the default), none, redis://…, or a folder")
		.option("--namespace <name>", "under which name, if not default");
}

export function repeatable(value: string, all: readonly string[] = []): readonly string[] {
	return [...all, value];
}

export const wholeNumber = numberFrom(0);
export const aboveZero = numberFrom(1);

function numberFrom(least: number): (text: string) => number {
	return (text) => {
		const value = Number(text);
		if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
		throw new InvalidArgumentError(`Expected a whole number, ${least} or more.`);
	};
}

export function shareOfAll(text: string): number {
	const value = Number(text);
	if (text.trim() !== "" && value >= 0 && value <= 1) return value;
	throw new InvalidArgumentError("Expected a share from 0 to 1.");
}

export function shareAboveZero(text: string): number {
	const share = shareOfAll(text);
	if (share > 0) return share;
	throw new InvalidArgumentError("Expected a share above 0, up to 1.");
}

export function seconds(text: string): number {
	const value = Number(text);
	// A timer for longer than this many seconds fires at once.
	if (text.trim() !== "" && value >= 0 && value <= 2_000_000) return value;
	throw new InvalidArgumentError("Expected a number of seconds, 0 or more, up to 2000000.");
}
