/** Configuration that the editor and the comparison of two texts share: YAML in the colours of the console. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  indentService,
  syntaxHighlighting,
  syntaxTree,
} from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { phrases } from './phrases';

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content, tags.attributeValue], color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--warn)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
  { tag: [tags.separator, tags.punctuation, tags.bracket], color: 'var(--muted)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--code)', lineHeight: '20px', direction: 'ltr' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--muted)', borderInlineEnd: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--chosen)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'light-dark(#bcd3fb, #2c4a7c)',
  },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunk)', borderColor: 'var(--line)', color: 'var(--muted)' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', fontFamily: 'system-ui, sans-serif' },
  '.cm-panels.cm-panels-top, .cm-panels.cm-panels-bottom': { borderColor: 'var(--line)' },
  '.cm-textfield': {
    backgroundColor: 'var(--bg)',
    border: '1px solid var(--edge)',
    borderRadius: '4px',
    minHeight: '28px',
    fontSize: '13px',
  },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--bg)',
    color: 'var(--text)',
    border: '1px solid var(--edge)',
    borderRadius: '4px',
    minHeight: '28px',
    fontSize: '13px',
  },
  '.cm-panel.cm-search': { padding: '8px 32px 8px 8px' },
  '.cm-panel.cm-search label': { fontSize: '13px' },
  '.cm-panel.cm-search [name=close]': { minWidth: '24px', minHeight: '24px', fontSize: '18px', color: 'var(--text)' },
  '.cm-searchMatch': { backgroundColor: 'light-dark(#ffe9ad, #4a3a0f)' },
  '.cm-changedLine': { backgroundColor: 'light-dark(#e6f4ec, #12301f) !important' },
  '.cm-changedText': { background: 'light-dark(#d2efdf, #174028) !important' },
  '.cm-deletedChunk': { backgroundColor: 'light-dark(#fef3f2, #331816)', paddingInlineStart: '6px' },
  '.cm-deletedChunk .cm-deletedText': { background: 'light-dark(#fce0de, #5c221e)' },
  '.cm-changeGutter': { width: '3px' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"…"', marginInline: '8px' },
  '.cm-collapsedLines': { background: 'var(--raised)', color: 'var(--muted)', paddingBlock: '4px' },
});

export const shared = (label: string): Extension[] => [
  lineNumbers(),
  highlightSpecialChars(),
  drawSelection(),
  EditorState.allowMultipleSelections.of(true),
  bracketMatching(),
  highlightSelectionMatches(),
  syntaxHighlighting(colours),
  yaml(),
  search({ top: true }),
  EditorState.phrases.of(phrases()),
  look,
  EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
];

/** Replaces a selection by typed text. Chromium would do it with inline styles, which the content security policy refuses. */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { state } = view;
  if (event.inputType !== 'insertText' || !event.data || !event.cancelable || state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(state.replaceSelection(event.data), { scrollIntoView: true, userEvent: 'input.type' });
  return true;
}

/** A line that ends with a key, also of an item in a list. The group is everything before the key. */
const keyWithoutValue = /^(\s*(?:- +)*)(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#&*!|>%@`[\]{},-][^"':#]*):\s*(?:#.*)?$/;

/** Indents the line after a key without a value. The language leaves it to the key, because the value is not there yet. */
const afterKey = indentService.of((context, at) => {
  if (context.simulatedBreak !== at) return undefined;
  const before = context.lineAt(at, -1);
  const [, place] = keyWithoutValue.exec(before.text) ?? [];
  const isText = syntaxTree(context.state).resolveInner(before.from + (place?.length ?? 0), 1).name === 'BlockLiteralContent';
  return place === undefined || isText ? undefined : place.length + context.unit;
});

export const editing = (): Extension[] => [
  foldGutter(),
  history(),
  indentOnInput(),
  afterKey,
  highlightActiveLine(),
  EditorView.domEventHandlers({ beforeinput: typeOver }),
  keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap]),
];

export const readingKeys = (): Extension => keymap.of([...searchKeymap, ...foldKeymap]);
