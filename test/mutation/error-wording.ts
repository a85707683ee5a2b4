interface NodePath {
	readonly node: SyntaxNode;
	readonly parent: SyntaxNode | null;
	readonly key: string | number | null;
}

interface SyntaxNode {
	readonly type: string;
	readonly id?: { readonly name?: string };
	readonly callee?: { readonly name?: string };
}

/** The wording of an error may change; its code and the condition under which it comes may not. */
export const errorWording = {
	shouldIgnore({ node, parent, key }: NodePath): string | undefined {
		if (!["StringLiteral", "TemplateLiteral", "BinaryExpression"].includes(node.type) || !parent) return undefined;
		const isNamed = parent.type === "VariableDeclarator" && parent.id?.name === "message";
		const isThrown = parent.type === "NewExpression" && parent.callee?.name?.endsWith("Error") && key !== 0;
		const isRefused = parent.type === "CallExpression" && parent.callee?.name?.startsWith("refused");
		return isNamed || isThrown || isRefused ? "the wording of an error" : undefined;
	},
};
