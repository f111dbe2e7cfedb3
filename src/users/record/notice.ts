import { z } from 'zod';

/** What a user is told of at the next login. */
export const noticeType = z.enum([
  'PasskeyAdded',
  'TOTPAdded',
  'RecoveryCodesAdded',
  'FactorRemoved',
  'FactorsReset',
  'PasskeySuspected',
  'PasswordSetByLink',
  'RecoveryCodeUsed',
  'TOTPSuspended',
  'AccountLinked',
  'AccountUnlinked',
]);

export type NoticeType = z.output<typeof noticeType>;

export interface Notice {
  readonly type: NoticeType;
  /** RFC 3339. */
  readonly time: string;
}

/** Those out of the list alone, with a time that there is: what else stands in a record is told to no one. */
export function noticesOf(kept: readonly { type?: string; time?: string }[] = []): readonly Notice[] {
  return kept.flatMap(({ type, time = '' }) => {
    const { data } = noticeType.safeParse(type);
    return data === undefined || Number.isNaN(Date.parse(time)) ? [] : [{ type: data, time }];
  });
}
