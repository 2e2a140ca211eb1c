import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { pages } from '../pages/pages.ts';

/** A dialog that finds pages by their title. Ctrl+K or ⌘K opens it from everywhere. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const navigate = useNavigate();
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      dialog.current?.showModal();
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  const found = pages.filter(({ title }) => title.toLowerCase().includes(text.toLowerCase()));
  const go = (path: string): void => {
    dialog.current?.close();
    void navigate({ to: path });
  };
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Find (Ctrl K)
      </button>
      <dialog ref={dialog} aria-label="Find a page" onClose={() => setText('')}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const [first] = found;
            if (first) go(first.path);
          }}
        >
          <label>
            Page <input value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
          </label>
        </form>
        <ul>
          {found.map(({ path, title }) => (
            <li key={path}>
              <button type="button" className="plain" onClick={() => go(path)}>
                {title}
              </button>
            </li>
          ))}
        </ul>
      </dialog>
    </>
  );
}
