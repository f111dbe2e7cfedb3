/** Comparison of two texts in one column: removed text is red and above, added text is green. */
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { readingKeys, shared } from './code';

interface DiffOptions {
  label: string;
  before: string;
  after: string;
}

export function startDiff(host: HTMLElement, { label, before, after }: DiffOptions): { stop(): void } {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: after,
      extensions: [
        ...shared(label),
        EditorState.readOnly.of(true),
        readingKeys(),
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
      ],
    }),
  });
  return { stop: () => view.destroy() };
}
