# The bootstrap test of a Gaussian mixture with R's mclust, timed: usage: Rscript mclust.R n N seed
# Prints two numbers, of CPU: seconds of one fit (K = 1..9, E and V), seconds of N replicates (draw, refit, distance).
# Of a file instead, with a sample a line: seconds of a fit and its BIC, a line each.
suppressMessages(library(mclust))
fit <- function(x) Mclust(x, G = 1:9, modelNames = c("E", "V"), verbose = FALSE)
cpu <- function(work) { t <- proc.time(); work(); sum((proc.time() - t)[1:2]) }
if (length(commandArgs(TRUE)) == 1) {
  for (line in readLines(commandArgs(TRUE))) { x <- scan(text = line, quiet = TRUE)
    s <- cpu(function() m <<- fit(x)); cat(s, format(m$bic, digits = 15), "\n") }
  quit() }
a <- as.integer(commandArgs(TRUE)); n <- a[1]; N <- a[2]; set.seed(a[3])
draw <- function(w, mu, s) { k <- sample.int(length(w), n, TRUE, w); rnorm(n, mu[k], s[k]) }
parameters <- function(m) { p <- m$parameters
  list(w = if (m$G == 1) 1 else p$pro, mu = p$mean, s = rep_len(sqrt(p$variance$sigmasq), m$G)) }
distance <- function(x, p) { x <- sort(x)
  F <- rowSums(vapply(seq_along(p$w), function(k) p$w[k] * pnorm(x, p$mu[k], p$s[k]), x))
  max(abs(seq_along(x) / n - F), abs((seq_along(x) - 1) / n - F)) }
x <- draw(c(.35, .4, .25), c(0, 4, 9), c(1, 1, 1)); invisible(fit(x))
one <- min(replicate(5, cpu(function() for (i in 1:10) fit(x)))) / 10
p <- parameters(fit(x))
many <- cpu(function() for (i in seq_len(N)) { y <- draw(p$w, p$mu, p$s); distance(y, parameters(fit(y))) })
cat(one, many, "\n")
