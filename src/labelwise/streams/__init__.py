"""Streams of labelled items: train in one pass, predict, and judge while learning."""

from labelwise.streams.predict import predict_stream, score_stream
from labelwise.streams.train import StreamPlan, train_stream
