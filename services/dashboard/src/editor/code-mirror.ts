import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { syntaxHighlighting } from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';

export interface EditorOptions {
  label: string;
  text: string;
  /** Differences from this text are marked. */
  original?: string;
  readOnly: boolean;
  onChange: (text: string) => void;
}

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--ground)' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-scroller': { overflow: 'visible', fontFamily: 'ui-monospace, monospace' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--panel)', borderColor: 'var(--line)' },
  '.tok-propertyName': { color: 'var(--accent)' },
  '.cm-changedLine': { backgroundColor: 'var(--added)' },
  '.cm-changedText': { background: 'none', textDecoration: 'underline' },
  '.cm-deletedChunk': { color: 'var(--text)', backgroundColor: 'var(--removed)' },
  '.cm-deletedChunk .cm-deletedText, .cm-deletedLine del': { background: 'none' },
});

/**
 * Mounts an editor for JSON. It is inside a shadow root, because the styles of CodeMirror are then adopted style sheets, which the policy of
 * the page allows. Tab leaves the editor, so that the page can be used with a keyboard.
 */
export function mountEditor(host: HTMLElement, { label, text, original, readOnly, onChange }: EditorOptions): EditorView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        json(),
        syntaxHighlighting(classHighlighter),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorState.readOnly.of(readOnly),
        theme,
        ...(original === undefined ? [] : [unifiedMergeView({ original, mergeControls: false, highlightChanges: true })]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
}

/** Replaces the text, unless the editor has it already, which keeps the cursor. */
export function replaceText(view: EditorView, text: string): void {
  const { doc } = view.state;
  if (doc.toString() !== text) view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
}
