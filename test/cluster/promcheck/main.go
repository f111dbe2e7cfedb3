// Checks metrics and alerts with the libraries of Prometheus, as `promtool check metrics` and `promtool check rules` do.
//
// `metrics` reads an exposition from stdin, `rules` a rule file, `expressions` one PromQL expression a line. Problems go to stdout, one a
// line, and make the exit code 1; without problems, `rules` and `expressions` print the names of the metrics that they use.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

func main() {
	names, problems := check(os.Args[1])
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		fmt.Println(name)
	}
}

func check(kind string) (names, problems []string) {
	switch kind {
	case "metrics":
		found, err := promlint.New(os.Stdin).Lint()
		if err != nil {
			return nil, []string{err.Error()}
		}
		for _, problem := range found {
			problems = append(problems, problem.Metric+": "+problem.Text)
		}
	case "rules":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, []string{err.Error()}
		}
		groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, promQL, slog.Default())
		for _, err := range errs {
			problems = append(problems, err.Error())
		}
		if groups == nil {
			return nil, problems
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				names, problems = used(rule.Expr, names, problems)
			}
		}
	case "expressions":
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			names, problems = used(lines.Text(), names, problems)
		}
	default:
		problems = []string{"usage: promcheck metrics|rules|expressions"}
	}
	return names, problems
}

func used(text string, names, problems []string) ([]string, []string) {
	expression, err := promQL.ParseExpr(text)
	if err != nil {
		return names, append(problems, text+": "+err.Error())
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names, problems
}
