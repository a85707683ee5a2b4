/**
 * Imports a package that is installed for the benchmarks alone, as the shape that the caller uses of it. The name is no
 * literal, so that the project's type check does not need the packages.
 */
export async function importPeer<Shape>(name: string): Promise<Shape> {
	return (await import(name)) as Shape;
}
