/** The editor for YAML: loaded when it is first opened. In a shadow root, where its styles are constructed sheets that the policy allows. */
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { parseDocument } from 'yaml';
import { editing, readingKeys, shared } from './code';

export { parse, stringify } from './yaml';

export interface EditorOptions {
  label: string;
  text: string;
  isReadOnly: boolean;
  onChange?: (text: string) => void;
}

export interface Editor {
  setText(text: string): void;
  focus(): void;
  stop(): void;
}

const problems = linter(({ state: { doc } }): Diagnostic[] => {
  const { errors } = parseDocument(doc.toString(), { prettyErrors: false });
  return errors.map(({ pos: [from, to], message }) => ({
    from: Math.min(from, doc.length),
    to: Math.min(to, doc.length),
    severity: 'error',
    message,
  }));
});

export function startEditor(host: HTMLElement, { label, text, isReadOnly, onChange }: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const reading = [EditorState.readOnly.of(true), readingKeys()];
  const writing = [
    ...editing(),
    problems,
    lintGutter(),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange?.(state.doc.toString());
    }),
  ];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: text, extensions: [...shared(label), ...(isReadOnly ? reading : writing)] }),
  });
  return {
    setText(next) {
      if (next !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    focus: () => view.focus(),
    stop: () => view.destroy(),
  };
}
