import { z } from "zod";

/** Variables that a placeholder template may use. */
export const placeholderVariables = ["tool_call_id", "tool_name", "original_chars", "ref", "digest"] as const;
/** Variables that a truncation marker may use. */
export const markerVariables = ["omitted_chars", "original_chars", "ref"] as const;

const variable = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names of the variables that a template uses, in order of appearance. */
export function templateVariables(template: string): string[] {
	return Array.from(template.matchAll(variable), (match) => match[1] as string);
}

/** A schema for templates that refuses any variable other than those given, and half characters (lone surrogates). */
export function templateSchema(known: readonly string[]) {
	return z
		.string()
		.min(1)
		.max(2_000)
		.superRefine((template, context) => {
			const unknown = new Set(templateVariables(template).filter((name) => !known.includes(name)));
			for (const name of unknown) {
				const shown = name.length > 40 ? `${name.slice(0, 40)}…` : name;
				context.addIssue({
					code: "custom",
					message: `unknown variable {${shown}}; known: ${known.map((one) => `{${one}}`).join(", ")}`,
				});
			}
			if (!template.isWellFormed()) {
				context.addIssue({ code: "custom", message: "half a character (a lone surrogate), which no API accepts" });
			}
		});
}
