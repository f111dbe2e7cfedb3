import { stringify as toText, parse as toValue } from 'yaml';

/** As kubectl prints it: no line is folded, texts of several lines are blocks. */
export const stringify = (value: unknown): string => toText(value, { lineWidth: 0, aliasDuplicateObjects: false, indentSeq: false });

/** @throws Error that says where it is no YAML */
export const parse = (text: string): unknown => toValue(text, { maxAliasCount: 0 });
