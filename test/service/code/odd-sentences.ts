import type { Message } from './messages.ts';

/** Verbs that follow a pronoun, but no determiner. */
const verb = '(?:is|was|are|were|has|have|had|does|did|do|will|would|can|cannot|could|may|must|should|requires|needs|wants|answered)';

/** The forms of sentences that have no subject, no object or no noun where a reader expects one. */
const oddForms = {
  /** Names no subject: "it is another", "this wants a login", "one’s own is removed", "nothing was heard". A name and a colon do not count. */
  pronounFirst: new RegExp(
    `^(?:\\S+: )?(?:(?:it|its|nothing|nobody|none|whether|so|or|as|of|else)(?![-=(:.'])\\b|(?:this|that|these|those) ${verb}\\b|one(?:[’']s| ${verb}| of)\\b)`,
    'i',
  ),
  /** Begins with a clause in place of a noun: "whom it named is gone", "what an access token leaves". A question is none. */
  clauseFirst: /(?:^|[.:;!?] )(?:who|whom|whose|what|which|where|how)\b(?![-=(:.'])(?!.*\?$)/i,
  /** Denies by the noun: "is no DNS label". Usual is "is not a DNS label"; "there is no user" and "is no longer valid" are usual, too. */
  negatedNoun:
    /(?<!\b[Tt]here )\b(?:is|are|was|were|been|be) no\b(?! longer\b| more\b| less\b)|\b(?:is|are|was|were|been|be) (?:none|nobody|nothing)\b/,
  /** Leaves a preposition without its noun: "names no Service that a plugin may come from". `ask for` is one verb. */
  strandedPreposition:
    /(?<!\b(?:ask|asks|asked|asking|waits?|waited|up|down) )\b(?:of|to|from|with|for|at|by|about|than)(?=$|[.;,)](?!\S)| (?:is|are|was|were|has|had|may|can|does|must|will)\b)/,
  /** Has a relative clause without the noun before it: "for who asks", "of what is deleted", "keeps whom it named". */
  relativeWithoutNoun:
    /\b(?:of|to|for|from|with|by|at|in|on|about|than|and|or|but|as|only|is|are|was|keeps?|finds?|lets?|passes|ignores) (?:who|what)\b(?! to do\b)|\b(?:of|for|to|by|with) whose\b|\bthat (?:who|that|which)\b|(?<!\b(?:to|of|for|by|with|from|on) )\bwhom\b/i,
  /** Has a clause as object where no verb of telling asks for one: "refuses what is small", "names what is gone, and ends what it began". */
  clauseAsObject:
    /(?<!\b(?:shows?|lists?|prints?|says?|tells?|asks?|asking|knows?|explains?|sees?|reads?|decides?)\b.{0,40}) what (?!to do\b)(?!.*\?$)/i,
  /** Denies by the noun after a preposition: "is in no log", "for callers of no issuer". Usual is "is missing from the log", "without". */
  negatedObject: /\b(?:about|at|by|for|from|in|of|on|to) no (?!longer\b|more\b|less\b|other\b)/,
  /** Refers to a clause by an adverb: "ends at its time, and says so". */
  adverbForClause: /\b(?:says?|tells?|shows?|reports?) so\b/,
  /** Compares without the second member, or has a pronoun for it: "aud is another", "is another one than x". */
  openComparison:
    /\b(?:is|are|be|was) another(?=$|[.;:,)])|\b(?:another|other|this|that) ones?(?=$|[.;:,)]| (?:of|than|that|who|is|was|has|may)\b)|\bthan (?:that|those|it|this|one)(?=$|[.;:,)]| (?:of|that|is)\b)/,
};

/** Idioms that have the form of a usual sentence. Kubernetes has a verb for each: requires, is active, is in the future, continues. */
const idioms =
  /\b(?:wants|counts? no|lies? ahead|will not do|perhaps|all the time|in force|do(?:es)? not count(?=$|[.;,])|(?:left|leaves?) alone|again and again|(?:is|are|was) to be|at hand|that counts?)\b/;

/** The numbers of requirements and cases that a title begins with. */
const numbers = /^(?:(?:cases\/[\w-]+|[A-Z]+\d*-?\d+|\(\d\)) )+/;

const determiner =
  'an?|the|each|every|all|both|either|neither|no|not|any|some|several|such|many|most|few|other|another|this|that|these|those';
const possessive = 'its|their|his|her|our|your|my|own';
const pronoun = 'it|they|we|you|i|he|she|one|ones|none|nobody|nothing|everything|there|here|who|whom|whose|which|what|where|how|why';
const conjunction = 'and|or|but|nor|so|if|unless|when|while|once|whenever|because|although|though|whereas|whether|only';
const preposition =
  'of|to|in|on|at|by|for|from|with|without|within|into|onto|out|off|up|down|over|under|above|below|about|across|after|against|along|among|around|as|before|behind|beside|besides|between|beyond|despite|during|except|inside|like|near|outside|per|past|since|than|through|toward|towards|until|upon|via';
const numeral = 'zero|one|two|three|four|five|six|seven|eight|nine|ten|first|second|third|last|half';
const auxiliary = 'is|are|was|were|has|have|had|does|do|did|may|can|cannot|could|must|should|will|would';

/**
 * Forms of a title that does not continue its `describe` with a verb: "without a selector gives nothing",
 * "429 once: reads are retried", "Ctrl+K finds a page", "lists of groups are sorted".
 */
const titleForms = {
  /** A determiner, pronoun, conjunction, preposition or numeral is the beginning of a subject or of a clause. */
  wordBeforeVerb: new RegExp(`^(?:${[determiner, possessive, pronoun, conjunction, preposition, numeral].join('|')})(?![-\\w])`, 'i'),
  /** A verb has small letters alone. The name of a case of the OpenID Foundation is the title of its test, and `x` is unknown. */
  noVerb: /^(?![a-z]+(?:[,:]? |$)|oidcc-|x\b)/,
  /** An auxiliary behind the first word has that word as its subject. */
  subjectOfItsOwn: new RegExp(`^(?!(?:${auxiliary}|also|never|says?|reports?|tells?|shows?) )[a-z]+ (?:${auxiliary}) `),
};
/** A nested `describe` may qualify the subject of the outer one: "of the demo", "that are malicious". */
const qualifier = /^(?:of|that|whose) /;

/** Returns the names of the odd forms of a message. Quoted code counts as one word. */
export function oddFormsOf({ text, use }: Message): string[] {
  const plain = text.replaceAll(/`[^`]*`/g, 'code').replace(numbers, '');
  const judged = use === 'subject' ? plain.replace(qualifier, 'x ') : plain;
  return Object.entries({ ...oddForms, idioms, ...(use === 'title' && titleForms) })
    .filter(([, form]) => form.test(judged))
    .map(([name]) => name);
}
