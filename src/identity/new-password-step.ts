import type { ChangeVerdict } from '../users/passwords/change.ts';
import type { NewPasswordProblem } from './form-parts.ts';
import type { Page } from './page.ts';
import { newPasswordPage } from './pages.ts';
import type { Progress } from './progress.ts';
import { aboutUser, type Step, type StepParts, stale } from './step.ts';
import { formTargetsOf, textsOf, type Visit } from './visit.ts';

/** Asks for a new password, if the password must be changed. */
export const newPasswordStep: Step = {
  show: async (parts, visit, { progress, account }) => (account.mustChangePassword ? pageFor(parts, visit, progress) : undefined),

  async take(parts, visit, progress, form) {
    const verdict = await change(parts, progress, form);
    if (verdict.outcome === 'overtaken') throw stale();
    if (verdict.outcome === 'refused') {
      visit.ctx.status = 422;
      return pageFor(parts, visit, progress, verdict.problem);
    }
    const { account } = verdict;
    parts.services.audit.record({ audit: 'PasswordChanged', ...aboutUser(visit, account), outcome: 'success' });
    return { progress, account };
  },
};

/** Result of a form with a new password. */
type NewPasswordVerdict = Exclude<ChangeVerdict, { outcome: 'refused' }> | { outcome: 'refused'; problem: NewPasswordProblem };

async function change({ passwordChange }: StepParts, progress: Progress, form: URLSearchParams): Promise<NewPasswordVerdict> {
  const password = form.get('new_password') ?? '';
  if (form.get('new_password_again') !== password) return { outcome: 'refused', problem: 'Different' };
  return passwordChange.change(progress, password);
}

function pageFor(parts: StepParts, visit: Visit, progress: Progress, problem?: NewPasswordProblem): Page {
  const { minLength } = parts.services.config.users.passwordPolicy;
  const form = { email: progress.email, proof: parts.progress.seal(progress, 'newPassword'), minLength, formTargets: formTargetsOf(visit) };
  return newPasswordPage(textsOf(parts, visit), { ...form, ...(problem && { problem }) });
}
