import { useSignal } from '@preact/signals';
import { Download } from 'lucide';
import { call } from '../../api/client';
import { asProblem, type Problem } from '../../api/problem';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { saveAs } from '../../ui/save-as';
import { ProblemNotice } from '../../ui/state';
import type { Conditions } from './question';

/** Saves all events of a question as CSV. */
export function Export({ conditions, isOwn }: { conditions: Conditions; isOwn: boolean }) {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | undefined>(undefined);
  async function save(): Promise<void> {
    isBusy.value = true;
    try {
      const asked = new URLSearchParams({ ...conditions, format: 'csv' });
      saveAs(isOwn ? 'own-audit.csv' : 'audit.csv', await (await call(`/auth/v1/audit/export?${asked}`)).blob());
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <>
      {problem.value && <ProblemNotice of={problem.value} />}
      <div class="buttons">
        <Button icon={Download} isBusy={isBusy.value} onClick={() => void save()}>
          {t('activity.export')}
        </Button>
      </div>
    </>
  );
}
