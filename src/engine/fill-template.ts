/** Fills the variables of a template, once: what a value brings is not filled. A variable without a value stays. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
	return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
		Object.hasOwn(values, name) ? String(values[name]) : whole,
	);
}
