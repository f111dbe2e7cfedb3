/** Fields that a refusal of the API server names: in its causes, or in the words of its decoder. */
import type { Problem } from '../../../api/problem';
import type { Refusal } from '../../../editors/marks';

const unknownField = /unknown field "([^"]+)"/g;
const wrongType = /cannot unmarshal .+ into Go struct field \w+\.([\w.]+) of type \S+/g;

/** @param document index of the document that was refused */
export function refusalsOf({ message, causes }: Problem, document = 0): Refusal[] {
  const named = causes.filter(({ field }) => /^[a-z][^\s<>]*$/i.test(field) && field !== 'patch');
  const words = [...message.matchAll(unknownField), ...message.matchAll(wrongType)];
  return [
    ...named.map((cause) => ({ document, field: cause.field, message: cause.message })),
    ...words.map(([text, field = '']) => ({ document, field, message: text })),
  ];
}
