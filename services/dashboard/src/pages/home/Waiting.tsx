import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';

/** How many tool calls wait for a decision. */
export function Waiting() {
  const pending = useCall('admin.approval.pending', {}, ['approval:requested', 'approval:resolved']);
  return (
    <Section title="Approvals" needs={['admin.approval.pending']}>
      <Loaded query={pending}>
        {({ total }) => (
          <PageLink to="/approvals" search={{}}>
            {total === 0 ? 'Nothing waits for approval' : `${total} tool calls wait for approval`}
          </PageLink>
        )}
      </Loaded>
    </Section>
  );
}
