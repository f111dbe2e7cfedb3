import { parse } from 'yaml';
import { z } from 'zod';

/** Value of the chart with its meaning; a section has further ones below it. */
export interface ValueComment {
  path: readonly string[];
  comment: string;
  default: unknown;
  isSection: boolean;
}

const keyLine = /^( *)([A-Za-z]\w*):/;
const commentLine = /^( *)# ?(.*)/;
const tree = z.record(z.string(), z.unknown());

/**
 * Returns the comment above each key of a values.yaml. A mapping without comments on its keys is one value.
 *
 * @throws Error for a value without a comment
 */
export function valueComments(yaml: string): ValueComment[] {
  const comments = commentsByPath(yaml);
  const collect = (values: Record<string, unknown>, above: readonly string[]): ValueComment[] =>
    Object.entries(values).flatMap(([key, value]) => {
      const path = [...above, key];
      const comment = comments.get(path.join('.'));
      const below = tree.safeParse(value).data ?? {};
      const isSection = Object.keys(below).some((child) => comments.has([...path, child].join('.')));
      if (comment === undefined) throw new Error(`values.yaml: ${path.join('.')} has no comment`);
      const own = { path, comment, default: value, isSection };
      return isSection ? [own, ...collect(below, path)] : [own];
    });
  return collect(tree.parse(parse(yaml)), []);
}

function commentsByPath(yaml: string): Map<string, string> {
  const found = new Map<string, string>();
  let path: string[] = [];
  let comment: string[] = [];
  for (const line of yaml.split('\n')) {
    const [, , text] = commentLine.exec(line) ?? [];
    const [, indent, key] = keyLine.exec(line) ?? [];
    if (text !== undefined) comment.push(text);
    else if (key !== undefined) {
      path = [...path.slice(0, (indent?.length ?? 0) / 2), key];
      if (comment.length > 0) found.set(path.join('.'), comment.join(' '));
      comment = [];
    } else comment = [];
  }
  return found;
}
