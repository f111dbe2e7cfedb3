/** Texts with elements at their places. */
import { type ComponentChildren, Fragment } from 'preact';
import { type Key, t } from '../../text/text';

/** Begin and end of a place in a text. No text of a language has these characters. */
const [open, close] = ['\u{E000}', '\u{E001}'];

/** Returns a text with elements at its places. Names of users and objects never become a part of the text: they break no line. */
export function textWith(key: Key, elements: Readonly<Record<string, ComponentChildren>>): ComponentChildren {
  const places = Object.fromEntries(Object.keys(elements).map((name) => [name, `${open}${name}${close}`]));
  return t(key, places)
    .split(new RegExp(`${open}(\\w+)${close}`, 'u'))
    .map((part, index) => <Fragment key={index}>{index % 2 === 0 ? part : elements[part]}</Fragment>);
}
