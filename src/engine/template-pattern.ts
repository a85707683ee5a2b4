/**
 * A pattern for exactly the texts that filling a template can give. `grammar` tells what each variable may be; a
 * variable that stands again must have the same value again, which also keeps matching fast for any template.
 */
export function templatePattern(template: string, grammar: Readonly<Record<string, string>>): RegExp {
	return new RegExp(`^${templateSource(template, grammar)}$`, "u");
}

/** A pattern that finds such texts inside others, one after the other. */
export function templateFinder(template: string, grammar: Readonly<Record<string, string>>): RegExp {
	return new RegExp(templateSource(template, grammar), "gu");
}

function templateSource(template: string, grammar: Readonly<Record<string, string>>): string {
	const seen = new Set<string>();
	const source = template.split(/(\{\w+\})/).map((part) => {
		const variable = part.slice(1, -1);
		if (!part.startsWith("{") || !Object.hasOwn(grammar, variable)) {
			return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		}
		if (seen.has(variable)) return `\\k<${variable}>`;
		seen.add(variable);
		return `(?<${variable}>${grammar[variable]})`;
	});
	return source.join("");
}
