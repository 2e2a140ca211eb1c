import type { EditorView } from '@codemirror/view';
import { useEffect, useRef, useState } from 'react';
import { describeError } from '../parts/format.ts';

interface CodeEditorProps {
  label: string;
  text: string;
  /** Differences from this text are marked. */
  original?: string;
  onChange?: (text: string) => void;
}

/** A text editor, which is loaded on first use. Without `onChange` the text cannot be edited. */
export function CodeEditor({ label, text, original, onChange }: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ text, onChange });
  const [failure, setFailure] = useState('');
  const readOnly = onChange === undefined;
  useEffect(() => {
    latest.current = { text, onChange };
  });
  useEffect(() => {
    let isMounted = true;
    import('./code-mirror.ts').then(
      ({ mountEditor }) => {
        if (!isMounted || host.current === null) return;
        view.current = mountEditor(host.current, {
          label,
          text: latest.current.text,
          ...(original === undefined ? {} : { original }),
          readOnly,
          onChange: (next) => latest.current.onChange?.(next),
        });
      },
      (error: unknown) => setFailure(describeError(error)),
    );
    return () => {
      isMounted = false;
      view.current?.destroy();
      view.current = undefined;
    };
  }, [label, original, readOnly]);
  useEffect(() => {
    const { current } = view;
    if (current !== undefined) void import('./code-mirror.ts').then(({ replaceText }) => replaceText(current, text));
  }, [text]);
  return (
    <>
      <div className="editor" ref={host} />
      {failure && <p role="alert">The editor could not be loaded: {failure}</p>}
    </>
  );
}
