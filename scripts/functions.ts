import { readFileSync } from 'node:fs';
import ts from 'typescript-5';

export interface MeasuredFunction {
  path: string;
  name: string;
  lines: number;
}

/** Parses a file of TypeScript. */
export const sourceOf = (path: string): ts.SourceFile =>
  ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);

/** Lists the functions of a file, also those inside others, with their lines from the first to the last. */
export function functionsOf(source: ts.SourceFile): MeasuredFunction[] {
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const found: MeasuredFunction[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body)
      found.push({
        path: source.fileName,
        name: node.name?.getText() ?? 'a function',
        lines: lineOf(node.end) - lineOf(node.getStart()) + 1,
      });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
