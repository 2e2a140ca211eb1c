import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';
import { Field } from './Field.tsx';
import { useFieldErrors } from './field-errors.ts';
import { SharedField } from './SharedField.tsx';
import { getPlace } from './skill-place.ts';

/** The service fetches up to 200 files of another host, and stops after a minute. */
const IMPORT_TIMEOUT_MS = 70_000;

/** Installs a skill from a folder of a repository. */
export function ImportSkill({ agentId }: { agentId: string }) {
  const [url, setUrl] = useDraft('skill address');
  const [isShared, setIsShared] = useState(false);
  const [imported, setImported] = useState('');
  const { errors, submit } = useFieldErrors(['url', 'scope']);
  const cache = useQueryClient();
  const run = async (): Promise<void> => {
    setImported('');
    const { name, fileCount } = await call('skills.import', { url, ...getPlace(agentId, isShared) }, undefined, IMPORT_TIMEOUT_MS);
    setUrl('');
    setImported(`Imported ${name}: ${fileCount} files.`);
    await cache.invalidateQueries({ queryKey: ['skills.list'] });
  };
  return (
    <>
      <Field label="Address of the folder" error={errors['url']}>
        {(attributes) => (
          <input type="url" value={url} onChange={(event) => setUrl(event.target.value)} autoComplete="off" {...attributes} />
        )}
      </Field>
      <SharedField isShared={isShared} onChange={setIsShared} error={errors['scope']} />
      <p className="tools">
        <Action label="Import skill" needs="skills.import" disabled={url === ''} run={() => submit(run)} />
        <span role="status">{imported}</span>
      </p>
    </>
  );
}
